"""A causal language model that is asked for a label by a prompt, as a network that ends in labels.

    score of a label = logit of its answer's token                      where every answer is one token, or `first`
                     = mean (or sum) of log p(token | what is before)   over the tokens of its answer, otherwise

Both give the same probabilities where both exist: a softmax over the labels. What a prompt says of texts without
content ("N/A", "[MASK]" and an empty one) is taken off under `calibration="contextual"` (Zhao et al. 2021):

    score of a label - log of its mean probability over texts without content

Rows that begin alike are read once up to where they differ (see `prefixes`), and answers go on from the states of the
row that they are behind (see `continuing`). When states are reused first, and for a row longer than any before, the row
is read by plain calls as well; if the two differ, none are reused any more.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.modeling_outputs import SequenceClassifierOutput

from whylight.core.arrays import Floats, Ints
from whylight.core.encoded import Encoded, Long, Unit
from whylight.core.errors import ModelError
from whylight.core.identity import digest
from whylight.core.labels import Head, Labels
from whylight.core.prompt import PARTS, Prompt
from whylight.core.text import Text
from whylight.models import continuing, tokenised
from whylight.models.holding import held
from whylight.models.prefixes import LEAST, Prefixes, Root, common_prefix
from whylight.models.prompt_reading import PromptReader, control_notes, replacement_tokens, scoring_notes
from whylight.models.token_network import TokenNetwork
from whylight.models.unchanged import unchanged
from whylight.views.tokens import TokenBatch, TokenWindow

CONTENT_FREE = ("N/A", "[MASK]", "")
TOLERANCE = 1e-4


class PromptedNetwork(TokenNetwork):
    """A causal language model behind a prompt.

    Args:
        model: A Hugging Face causal language model.
        tokenizer: Its fast tokenizer.
        prompt: How it is asked.
        limit: Tokens that it reads at once.
    """

    kind = "a prompted language model"

    def __init__(self, model: Any, tokenizer: Any, *, prompt: Prompt, limit: int) -> None:  # noqa: ANN401
        self.prompt = prompt
        with held(tokenizer):
            self.reader = PromptReader(tokenizer, prompt)
            self.answers = self._read_answers()
        self.explains_blocks = bool(self.reader.blocks)
        if self.explains_blocks:
            self.kind = f"{self.kind} whose prompt is explained block by block"
        self.whole = limit
        self.costs = self._unread
        self._keeps_tokens = continuing.keeps_tokens(model)
        self._prefixes = Prefixes(usable=self._keeps_tokens)
        self._without_content: Tensor | None = None
        super().__init__(model, tokenizer, limit=limit - self._reserved + 1)
        self.computed = 0

    def _read_answers(self) -> list[Ints]:
        """Return the tokens of each answer, one per label."""
        return list(self.reader.answers.values())

    @property
    def _reserved(self) -> int:
        """Tokens of the longest answer, whose last one is never read."""
        return max(map(len, self.answers))

    @property
    def continues(self) -> bool:
        """Whether an answer has several tokens."""
        return max(map(len, self.answers)) > 1

    @property
    def normalised(self) -> bool:
        """Whether a score is a log-probability among all tokens, and not a logit."""
        return self.continues

    def with_model(self, model: Any) -> "PromptedNetwork":  # noqa: ANN401
        """Return the same network on another model of the same shape."""
        return type(self)(model, self.tokenizer, prompt=self.prompt, limit=self.whole)

    def encode(self, example: Text, *, unit: Unit, long: Long) -> Encoded:
        """Cut an example into features and windows, each inside the prompt."""
        self._prefixes.forget()  # the model may have been trained on since the last text
        if self.prompt.calibration != "none":  # now: while a view exchanges word embeddings, it would exchange these
            self._without_content = self._found_without_content()
        with held(self.tokenizer):
            encoded = tokenised.encode(
                self.tokenizer,
                replace(example, blocks=self.reader.blocks),
                unit=unit,
                long=long,
                limit=self.limit,
                replacements=self.replacements,
                reading=self.reader.read(example),
            )
        return replace(encoded, notes=(*encoded.notes, *self._explained))

    @property
    def _explained(self) -> list[str]:
        """What the receipt says of features that are no words of a text, and of removers that there are not."""
        names = ", ".join(block.name for block in self.reader.blocks)
        blocks = [f"of the prompt, each of these is one feature: {names}"] if names else []
        # where labels are texts, it is said of each how it is scored
        scored = scoring_notes(self.prompt, self.answers) if self.normalised and not self.prompt.free else []
        return [*scored, *blocks, *control_notes(self.tokenizer, self.replacements)]

    @property
    def removers(self) -> tuple[str, ...]:
        """The removers that work on its windows, default first; no word can be written for a whole example."""
        found = super().removers
        return tuple(name for name in found if name != "infill") if self.explains_blocks else found

    def forward(self, rows: TokenBatch, **options: Any) -> Any:  # noqa: ANN401  a transformers output
        """Run one batch; its logits are one column per label."""
        places = torch.as_tensor(rows.lengths, device=self.model.device) - 1
        if self.continues and not self._keeps_tokens:
            return SequenceClassifierOutput(logits=self._read_whole(rows, options))
        options["use_cache"] = self.continues
        options |= {"past_key_values": continuing.no_states()} if self.continues else {}
        self.computed += int(rows.lengths.sum())
        output = super().forward(rows, **self._reading(places), **options)
        logits = self._labels(output, places, rows)
        return SequenceClassifierOutput(
            logits=logits, attentions=output.get("attentions"), hidden_states=output.get("hidden_states")
        )

    def label_logits(self, rows: TokenBatch, *, head: Head, identity: str) -> Floats:
        """Run one batch without gradient; what rows begin with alike is read once."""
        if not self._prefixes.usable or rows.zeroed is not None:
            return super().label_logits(rows, head=head, identity=identity)
        with held(self.model):
            values = self._reused(rows).double().cpu().numpy()
        if not np.isfinite(values).all():
            raise ModelError(f"the model '{identity}' returned a logit that is not a finite number.")
        return np.asarray(values)

    def _unread(self, rows: TokenBatch) -> Ints:
        """Return how many tokens of each row have to be read, its answers included."""
        answers = sum(map(len, self.answers)) - len(self.answers)
        if not self._prefixes.usable or rows.zeroed is not None:
            return rows.lengths + answers
        _, shared = self._prefixes.longest(rows)
        return rows.lengths - shared + answers

    def example(self, text: str) -> Text:
        """Return an input that it reads, with a text in it."""
        return Text(text, "a film" if self.prompt.takes_pairs else None)

    def plain_inputs(self, example: Text, window: TokenWindow) -> Mapping[str, Tensor]:
        """Return the ids of a prompt about a text, as the tokenizer gives them for the whole of it."""
        ids = self._written_ids(*example.texts)
        left = torch.as_tensor(window.ids, device=ids.device)
        # of a text that is too long; and some tokenizers end what they read, which a prompt must not be
        cut = len(ids) > self.limit or torch.equal(ids[: len(left)], left)
        return {"input_ids": (left if cut else ids)[None]}

    def plain_logits(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Return the scores of labels, `[1, labels]`, by one plain call of the model per label."""
        return (self._plain_scores(inputs["input_ids"][0]) - self._offsets)[None]

    def _plain_scores(self, ids: Tensor) -> Tensor:
        """Return the scores of labels behind a row of ids, `[labels]`, before calibration."""
        return continuing.read_whole(
            self.model, ids, self.answers, normalised=self.normalised, summed=self.prompt.scoring == "sum"
        )

    def _read_whole(self, rows: TokenBatch, options: Mapping[str, Any]) -> Tensor:
        """Return one column per label by plain calls, for a model from whose states no answer can go on."""
        if rows.zeroed is not None or options:
            raise continuing.no_tokens(self.architecture)
        ids = torch.as_tensor(np.ascontiguousarray(rows.ids), device=self.model.device)
        self.computed += int(self._unread(rows).sum())
        found = [self._plain_scores(row[:length]) for row, length in zip(ids, rows.lengths.tolist(), strict=True)]
        return torch.stack(found) - self._offsets

    def embed(self, ids: Ints) -> Tensor:
        """Return the word embeddings of tokens, `[tokens, dims]`, for views that exchange them."""
        if self.continues and not self._keeps_tokens:
            raise continuing.no_tokens(self.architecture)
        return super().embed(ids)

    def contents(self, labels: Labels) -> dict[str, str]:
        """Return hashes of weights, configuration, tokenizer and prompt, and of how the model is asked."""
        answers = [" ".join(map(str, ids.tolist())) for ids in self.answers]
        asked: list[str | int] = [self.prompt.scoring, self.prompt.calibration, self.replacements["neutral"]]
        asked += [] if self.prompt.features == PARTS else list(self.prompt.features)
        return {**super().contents(labels), "prompt": digest([*self.reader.pieces, *answers, *asked])}

    @property
    def removed_by(self) -> str:
        """What stands for a removed word by default."""
        return str(self.tokenizer.decode([self.replacements["neutral"]]))

    def _find_replacements(self) -> dict[str, int]:
        return replacement_tokens(self.tokenizer, self.prompt)

    def _reading(self, places: Tensor) -> dict[str, Tensor]:
        """Ask for logits at the ends of rows alone, where a model can be asked so."""
        return {"logits_to_keep": torch.unique(places)} if "logits_to_keep" in self._accepted else {}

    def _labels(self, output: Any, places: Tensor, rows: TokenBatch) -> Tensor:  # noqa: ANN401
        """Return one column per label, from what a model says behind rows that end at `places`."""
        logits = output.logits
        kept = torch.unique(places) if "logits_to_keep" in self._accepted else torch.arange(logits.shape[1])
        last = logits[torch.arange(len(logits)), torch.searchsorted(kept.to(places.device), places)]  # [rows, tokens]
        first = torch.as_tensor([int(answer[0]) for answer in self.answers], device=last.device)
        total: Tensor = (continuing.log_probabilities(last) if self.normalised else last)[:, first]
        if self.continues:
            self.computed += len(rows) * (sum(map(len, self.answers)) - len(self.answers))
            lengths = torch.as_tensor(rows.lengths, device=last.device)
            total = total + continuing.read_on(self.model, output.past_key_values, lengths, self.answers)
        if self.continues and self.prompt.scoring == "mean":
            total = total / torch.as_tensor([len(answer) for answer in self.answers], device=total.device)
        return total - self._offsets

    @property
    def _offsets(self) -> Tensor:
        """What the prompt says of texts without content, `[labels]`; found out anew for each text."""
        if self.prompt.calibration == "none":
            return torch.zeros(len(self.answers), device=self.model.device)
        if self._without_content is None:
            self._without_content = self._found_without_content()
        return self._without_content

    def _found_without_content(self) -> Tensor:
        with held(self.tokenizer):
            empty = [self.reader.ids(*[one] * self.prompt.n_texts) for one in CONTENT_FREE]
        with unchanged(self.model), torch.inference_mode(mode=False), torch.no_grad():
            rows = [torch.as_tensor(ids, device=self.model.device) for ids in empty]
            return torch.stack([self._plain_scores(row).softmax(-1) for row in rows]).mean(0).log()

    def _written_ids(self, *texts: str) -> Tensor:
        """Return the ids of the prompt about a text, or two, as the tokenizer gives them for the whole of it."""
        with held(self.tokenizer):
            whole = self.reader.written(*texts)
            ids = self.tokenizer(whole, add_special_tokens=not self.prompt.chat)["input_ids"]
        return torch.as_tensor(ids, device=self.model.device)

    def _reused(self, rows: TokenBatch) -> Tensor:
        """Return the scores of labels; rows are read from where they differ from one that was read before."""
        prefixes = self._prefixes
        root, shared = prefixes.longest(rows)
        common = common_prefix(rows)
        if len(rows) > 1 and common >= max(LEAST, int(shared.min()) + LEAST):
            self._read_common(TokenBatch(rows.ids[:1, :common], rows.types[:1, :common], np.asarray([common])))
            root, shared = prefixes.longest(rows)
        length = int(shared.min())
        if root is None or length < LEAST:
            root, length = None, 0
        values = self._labels(*self._read_behind(root, length, rows), rows)
        if root is not None and rows.lengths[0] > prefixes.proven:
            first = torch.as_tensor(rows.ids[0, : rows.lengths[0]], device=values.device)
            plain = self.plain_logits({"input_ids": first[None]})
            if not torch.allclose(values[:1], plain.to(values.dtype), rtol=TOLERANCE, atol=TOLERANCE):
                prefixes.usable = False
                return torch.cat([self.forward(rows.take([row])).logits for row in range(len(rows))])
            prefixes.proven = int(rows.lengths[0])
        return values

    def _read_common(self, row: TokenBatch) -> None:
        """Read a stretch that no answer is wanted of, for the rows that begin with it."""
        root, shared = self._prefixes.longest(row)
        length = int(shared[0]) if root is not None and shared[0] >= LEAST else 0
        self._read_behind(root if length else None, length, row)

    def _read_behind(self, root: Root | None, length: int, rows: TokenBatch) -> tuple[Any, Tensor]:
        """Read rows behind the first tokens of another, and return the output and where in it rows end.

        The states of a single row are kept.
        """
        device = self.model.device
        lengths = torch.as_tensor(rows.lengths, device=device)
        ids = torch.as_tensor(np.ascontiguousarray(rows.ids[:, length:]), device=device)
        mask = torch.arange(rows.ids.shape[1], device=device) < lengths[:, None]
        options: dict[str, Any] = self._reading(lengths - 1 - length)
        if "position_ids" in self._accepted:
            options["position_ids"] = torch.arange(length, rows.ids.shape[1], device=device).expand(len(rows), -1)
        options["past_key_values"] = continuing.no_states() if root is None else root.cache(length, len(rows))
        output = self.model(
            input_ids=ids.masked_fill(~mask[:, length:], 0), attention_mask=mask.long(), use_cache=True, **options
        )
        self.computed += int(rows.lengths.sum()) - length * len(rows)
        if len(rows) == 1:
            self._prefixes.keep(rows.ids[0], output.past_key_values)
        return output, lengths - 1 - length
