"""What cannot be asked of an endpoint is refused in one sentence, and its key is told to nobody else."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import whylight as wl
from answering import Handler, asked, likely, serving
from whylight.core.errors import IncompatibleError, InputError, ModelError, SettingError, WhylightError

KEY = "sk-very-secret-4711"


def first_choice(**changes: Any) -> Any:
    def reply(_asked: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "choices": [{**answer["choices"][0], **changes}]}

    return reply


def returned(*pairs: tuple[Any, Any]) -> Any:
    """An answer with these tokens, some of which may be there twice."""
    listed = [{"token": token, "logprob": value} for token, value in pairs]
    return first_choice(logprobs={"content": [{"token": "x", "logprob": -1.0, "top_logprobs": listed}]})


def one_sentence(error: BaseException) -> str:
    said = str(error)
    assert said.endswith(".")
    assert "\n" not in said
    return said


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        ({" positive": -0.1}, "' negative' of the label 'negative' is not among the 1 tokens"),
        ({" positive": -0.1, " neg": -3.0}, r"\(' neg' did: the model may cut the answer into several tokens\)"),
        ({" positive": -0.1, "negative": -3.0}, "the likeliest of which are ' positive', 'negative'"),
        ({" positive": -0.1, " Negative": -3.0}, r"larger top_logprobs \(now 20\), or answers that are such tokens"),
        ({" positive": -0.1, " negative": -9999.0}, "not among the 1 tokens"),
        ({" positive": -0.1, " negative": -3.4e38}, "not among the 1 tokens"),
    ],
)
def test_a_label_that_did_not_come_back_has_no_score(tokens: dict[str, float], said: str) -> None:
    with serving(tokens=lambda prompt: tokens if "dull" in prompt else likely(prompt)) as server:
        clf = server.load()
        wl.explain(clf, "good film", method="occlusion")
        with pytest.raises(ModelError, match=said) as caught:
            wl.explain(clf, "not dull", method="occlusion")
    assert server.url in one_sentence(caught.value)


def test_a_label_beyond_the_number_of_tokens_is_refused_in_the_middle_of_the_work() -> None:
    def tokens(prompt: str) -> dict[str, float]:
        return likely(prompt) if "good" in prompt else {" a": -1.0, " b": -1.5, " positive": -2.0, " negative": -2.5}

    with serving(tokens=tokens) as server:
        with pytest.raises(ModelError, match="' negative' of the label 'negative'"):
            wl.explain(server.load(top_logprobs=3), "good film", method="occlusion")
        assert wl.explain(server.load(top_logprobs=4), "good film", method="occlusion").scores.shape == (1, 2)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (first_choice(logprobs=None), "gives no log-probabilities of tokens"),
        (first_choice(logprobs={"top_logprobs": None}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": []}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [None]}), "gives no log-probabilities"),
        (first_choice(logprobs={"content": [{"token": "a", "logprob": -1}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": "high"}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": None}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": True}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": float("nan")}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": float("-inf")}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": -(10**400)}]}), "gives no log-probabilities"),
        (first_choice(logprobs={"top_logprobs": [{" positive": float("inf")}]}), "no log-probabilities: they add up"),
        (first_choice(logprobs={"top_logprobs": [{" positive": 0.7, " negative": 0.2}]}), "they add up to more than 1"),
        (first_choice(logprobs={"top_logprobs": [{" positive": -0.1, " negative": -0.2}]}), "they add up"),
        (lambda _asked, _answer: [], "gives no log-probabilities"),
        (lambda _asked, _answer: {"choices": []}, "gives no log-probabilities"),
        (lambda _asked, _answer: {"error": "x"}, "gives no log-probabilities"),
        (
            lambda _asked, _answer: b"<html>welcome</html>",
            "did not answer with JSON, so it may not be the URL of an API",
        ),
        (lambda _asked, _answer: b'{"choices": ', "did not answer with JSON"),
        (lambda _asked, _answer: b"[" * 100_000, "did not answer with JSON"),
        (lambda _asked, _answer: b"\xff\xfe\xfa", "did not answer with JSON"),
        (lambda _asked, _answer: b"1" * 100_000, "did not answer with JSON"),
    ],
)
def test_an_endpoint_that_does_not_answer_as_it_must_is_refused_when_it_is_loaded(reply: Any, said: str) -> None:
    with serving(reply=reply) as server, pytest.raises(ModelError, match=said) as caught:
        server.load()
    assert server.url in one_sentence(caught.value)
    assert len(server.requests) == 1


def test_two_tokens_that_read_alike_are_refused_and_one_that_is_listed_twice_is_not() -> None:
    known = ((" positive", -1.0), (" negative", -2.0))
    with serving(reply=returned(*known, (" positive", -1.0))) as server:
        assert wl.explain(server.load(), "good", method="random").prediction.label == "positive"
        server.reply = returned(*known, (" positive", -3.0))
        with pytest.raises(ModelError, match=r"several tokens that read ' positive'.*use another answer"):
            wl.explain(server.load(), "good", method="random")


def test_another_model_in_the_middle_of_the_work_is_refused() -> None:
    names = iter(["a", "a", "a", "b"])
    with serving(reply=lambda _asked, answer: {**answer, "model": next(names)}) as server:
        clf = server.load(in_flight=1)
        with pytest.raises(ModelError, match="began to answer by another model \\('b', before 'a'\\)") as caught:
            wl.explain(clf, "good film", method="occlusion")
    one_sentence(caught.value)


@pytest.mark.parametrize(
    ("prompt", "options", "said"),
    [
        ("nli", {}, "'nli' asks about a pair of texts, and an endpoint is asked about single ones"),
        (asked(answers={"a": "same", "b": "same"}), {}, "the labels 'a' and 'b' have the same answer, ' same'"),
        (asked(answers={"a": "same", "b": " same"}), {}, "the labels 'a' and 'b' have the same answer, ' same'"),
        (asked(neutral=" "), {}, "'neutral' of the prompt 'mine' is empty"),
        (wl.Prompt(template="{text} is"), {}, "has no answers, and an endpoint is asked for labels alone"),
        ("emotion", {"top_logprobs": 5}, "has 6 labels, and only 5 tokens are asked for; use top_logprobs=6 or more"),
    ],
)
def test_a_prompt_that_an_endpoint_cannot_be_asked_is_refused(prompt: Any, options: dict[str, Any], said: str) -> None:
    with serving() as server:
        with pytest.raises(SettingError, match=said) as caught:
            server.load(prompt, **options)
        assert server.requests == []
    one_sentence(caught.value)


def test_inputs_and_arguments_that_an_endpoint_does_not_take_are_refused() -> None:
    with serving() as server:
        clf = server.load()
        with pytest.raises(IncompatibleError, match="use the unit 'word' or 'sentence'"):
            wl.explain(clf, "good", unit="token")
        with pytest.raises(InputError, match="'mine' asks about one text; this input has 2"):
            wl.explain(clf, ("good", "bad"))
        with pytest.raises(InputError, match="the text is empty"):
            wl.explain(clf, " ")
        with pytest.raises(WhylightError, match="surrogate"):
            wl.explain(clf, "good \ud800")
        with pytest.raises(SettingError, match="an endpoint is asked by a prompt"):
            wl.load(server.endpoint())
        for name, value in {"labels": ["a", "b"], "head": "softmax", "device": "cpu", "identity": "x"}.items():
            with pytest.raises(SettingError, match=f"{name}= is not for an endpoint"):
                wl.load(server.endpoint(), prompt=asked(), **{name: value})  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "url",
    [
        *("", "127.0.0.1:8000/v1", "ftp://host/v1", "http://", "https:///v1", "http://127.0.0.1:99999/v1", 7, None),
        *("http://127.0.0.1:x/v1", "http://[::1/v1", "https://host/v1?key=hidden", "https://host/v1#hidden"),
        *("https://me:hidden@host/v1", "https://hidden@host/v1", "me:hidden@host/v1", "https://host/hid den"),
        *("https://h\u00f6st/v1", "https://host/v1\r\nX-Hidden: hidden", "https://host/v1/chat/completions"),
        *("https://host/v1/completions/", "http://127.0.0.1:0/v1", "file:///etc/passwd", "https://host/v1?"),
    ],
)
def test_a_url_that_is_none_is_refused_and_not_repeated(url: Any) -> None:
    with pytest.raises(SettingError, match=r"URL of (an|the) endpoint") as caught:
        wl.Endpoint(url, model="x")
    assert "hidden" not in one_sentence(caught.value).lower()


@pytest.mark.parametrize("host", ["192.168.0.7", "example.org", "10.0.0.0", "127.0.0.1.example.org", "[2001:db8::1]"])
def test_text_and_key_go_unencrypted_to_no_other_machine(host: str) -> None:
    with pytest.raises(SettingError, match="unencrypted; use https://, or say allow_http=True"):
        wl.Endpoint(f"http://{host}/v1", model="x")
    assert wl.Endpoint(f"http://{host}/v1", model="x", allow_http=True).port == 80
    assert wl.Endpoint(f"https://{host}/v1", model="x").port == 443


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.1.2.3", "LOCALHOST", "[::ffff:127.0.0.1]"])
def test_this_machine_may_be_spoken_to_unencrypted(host: str) -> None:
    assert wl.Endpoint(f"http://{host}:8000/v1/", model="x").url == f"http://{host.lower()}:8000/v1"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model": ""}, "needs the name of the model"),
        ({"model": None}, "needs the name of the model"),
        ({"retries": -1}, "retries of an endpoint is -1; it must be a whole number, at least 0 and at most 100"),
        ({"retries": 1.5}, "retries .* whole number"),
        ({"in_flight": 0}, "in_flight .* at least 1 and at most 64"),
        ({"in_flight": True}, "in_flight"),
        ({"top_logprobs": 0}, "top_logprobs"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"per_minute": 0}, "per_minute"),
        ({"per_minute": "many"}, "per_minute"),
        ({"wait": -1}, "wait"),
        ({"allow_http": "yes"}, "allow_http"),
        ({"key_variable": 3}, "key_variable is the name of the environment variable"),
        ({"key_variable": ""}, "is not set"),
    ],
)
def test_a_setting_of_another_kind_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said) as caught:
        wl.Endpoint("https://host/v1", **{"model": "x", **options})
    one_sentence(caught.value)


def test_the_key_goes_to_the_endpoint_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")

    def repeat(handler: Handler, number: int) -> bool:
        if number > 6:
            handler.say(400, {"error": {"message": f"bad request by {KEY}"}})
        return number > 6

    with serving(fault=repeat) as server:
        endpoint = server.endpoint(key_variable="MY_KEY")
        clf = wl.load(endpoint, prompt=asked())
        found = wl.explain(clf, "a good film", method="occlusion")
        assert {one["Authorization"] for one in server.headers} == {f"Bearer {KEY}"}
        with pytest.raises(ModelError, match=r"bad request by \*\*\*") as caught:
            wl.explain(clf, "another", method="occlusion")
        found.save(tmp_path / "found.html")
        found.save(tmp_path / "found.json")
        said = [repr(endpoint), repr(clf), repr(found), found.to_json(), str(found.provenance), str(clf.contents())]
        said += [
            str(caught.value),
            pickle.dumps(endpoint).decode("latin-1"),
            str(vars(clf)),
            json.dumps(server.requests),
        ]
        said += [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()]
        assert not any(KEY in one for one in (*said, *capsys.readouterr()))
        monkeypatch.delenv("MY_KEY")
        with pytest.raises(SettingError, match="that key_variable names is not set"):
            wl.explain(clf, "a third", method="occlusion")


@pytest.mark.parametrize("key", ["\u00fcber", "two words", "a\r\nX-Other: b"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_repeated(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", key)
    with pytest.raises(SettingError, match="a blank or a character beyond ASCII") as caught:
        wl.Endpoint("https://host/v1", model="x", key_variable="MY_KEY")
    assert key not in str(caught.value)


def test_a_key_in_the_place_of_its_name_is_not_repeated() -> None:
    for key in (KEY, "0123456789abcdef"):
        with pytest.raises(SettingError, match="not the key itself") as caught:
            wl.Endpoint("https://host/v1", model="x", key_variable=key)
        assert key not in str(caught.value)


def test_the_command_line_asks_an_endpoint(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    prompt = tmp_path / "mine.toml"
    lines = ["template = 'Review: {text}\\nSentiment:'".replace("'", '"'), "[answers]", "negative = 'negative'"]
    prompt.write_text("\n".join([*lines, "positive = 'positive'"]), encoding="utf-8")
    with serving() as server:
        named = ["--endpoint", server.url, "--endpoint-model", "my-llm", "--prompt", str(prompt)]
        keyed = [*named, "--endpoint-set", "key_variable=MY_KEY", "--endpoint-set", "in-flight=2"]
        code, out, err = cli("explain", "a good film", *keyed, "--method", "occlusion", "--format", "json")
        assert (code, err) == (0, "")
        assert json.loads(out)["model"] == f"my-llm at {server.url} asked by 'mine'"
        assert server.headers[-1]["Authorization"] == f"Bearer {KEY}"
        code, out, _ = cli("methods", *named)
        assert code == 0
        assert "an endpoint gives none" in " ".join(out.split())
        data = tmp_path / "texts.jsonl"
        data.write_text('{"text": "a good film", "label": "positive"}\n', encoding="utf-8")
        code, out, _ = cli("evaluate", "--data", str(data), *named, "--method", "occlusion", "--format", "csv")
        assert code == 0
        assert "occlusion" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--endpoint-model", "x"], "name it by --endpoint URL"),
        (["--endpoint", "https://host/v1"], "--endpoint-model NAME"),
        (["--endpoint", "https://host/v1", "--model", "x"], "name one of them"),
        (["--endpoint", "https://me:hidden@host/v1", "--endpoint-model", "x"], "holds a name or password"),
        (["--endpoint", "http://host/v1", "--endpoint-model", "x"], "unencrypted"),
        (["--endpoint", "https://host/v1", "--endpoint-model", "x", "--endpoint-set", "hidden"], "takes NAME=VALUE"),
        (["--endpoint", "https://host/v1", "--endpoint-model", "x", "--endpoint-set", "key=hidden"], "setting of an"),
        (["--endpoint", "https://host/v1", "--endpoint-model", "x", "--endpoint-set", "retries=x"], "a whole number"),
        (["--endpoint", "https://host/v1", "--endpoint-model", "x"], "asked by a prompt"),
        (["--endpoint", "http://127.0.0.1:9/v1", "--endpoint-model", "x", "--prompt", "sentiment"], "nobody listens"),
    ],
)
def test_a_slip_on_the_command_line_is_told_in_one_sentence(cli: Any, arguments: list[str], said: str) -> None:
    code, out, err = cli("explain", "a good film", *arguments)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert "hidden" not in err
    assert "Traceback" not in err
