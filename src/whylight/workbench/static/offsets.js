// The one place where offsets change: the server counts code points, the browser counts UTF-16 units.

export class Offsets {
  constructor(text) {
    this.text = text;
    this.wide = []; // units at which a character of two units starts
    for (let at = 0; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      const next = text.charCodeAt(at + 1);
      if (unit >= 0xd800 && unit < 0xdc00 && next >= 0xdc00 && next < 0xe000) this.wide.push(at++);
    }
  }

  // how many characters of two units start before a unit
  before(unit) {
    let low = 0;
    let high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] < unit) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  points(unit) {
    return unit - this.before(unit);
  }

  units(point) {
    let low = 0;
    let high = this.wide.length;
    while (low < high) { // the first wide character that starts at or behind the point
      const middle = (low + high) >> 1;
      if (this.wide[middle] - middle < point) low = middle + 1;
      else high = middle;
    }
    return point + low;
  }

  // a stretch of units, widened so that it cuts no character in two
  whole(start, end) {
    const inside = (unit) => this.wide[this.before(unit) - 1] === unit - 1 && this.before(unit) > 0;
    return [inside(start) ? start - 1 : start, inside(end) ? end + 1 : end];
  }
}
