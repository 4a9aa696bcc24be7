// What a person has marked in one sentence: spans, decided tokens, and the tokens selected now.

export class Marking {
  constructor(item, types) {
    this.item = item;
    this.types = types;
    this.n = item.places.length;
    const answer = item.answer;
    const told = answer ? answer.spans.map(([start, stop, type]) => ({ start, stop, type })) : item.proposal.spans;
    this.spans = told.map((span) => ({ ...span }));
    const open = new Set(answer ? answer.undecided : this.unasked());
    this.decided = new Set([...Array(this.n).keys()].filter((t) => !open.has(t)));
    this.touched = false;
    this.cursor = this.anchor = Math.max(0, Math.min(this.n - 1, this.firstAsked()));
  }

  // Tokens that need not be read: neither asked for nor in a span that is.
  unasked() {
    const asked = new Set(this.item.proposal.asked);
    for (const span of this.spans ?? this.item.proposal.spans)
      if (range(span).some((t) => asked.has(t))) for (const t of range(span)) asked.add(t);
    return [...Array(this.n).keys()].filter((t) => !asked.has(t));
  }

  firstAsked() {
    return this.item.proposal.asked[0] ?? 0;
  }

  get selection() {
    return { start: Math.min(this.cursor, this.anchor), stop: Math.max(this.cursor, this.anchor) + 1 };
  }

  spanAt(t) {
    return this.spans.find((span) => span.start <= t && t < span.stop);
  }

  isDecided(span) {
    return range(span).every((t) => this.decided.has(t));
  }

  move(to, extend) {
    this.cursor = Math.max(0, Math.min(this.n - 1, to));
    if (!extend) this.anchor = this.cursor;
  }

  // The selection, or, where it lies inside a span, the span.
  aim() {
    const chosen = this.selection, span = this.spanAt(chosen.start);
    return span && chosen.stop <= span.stop && chosen.stop - chosen.start === 1 ? { start: span.start, stop: span.stop } : chosen;
  }

  label(type, single = false) {
    const aim = this.aim();
    this.spans = this.spans.filter((span) => span.stop <= aim.start || aim.stop <= span.start);
    if (type !== null) for (const part of single ? range(aim).map((t) => ({ start: t, stop: t + 1 })) : [aim]) this.spans.push({ ...part, type });
    this.spans.sort((a, b) => a.start - b.start);
    for (const t of range(aim)) this.decided.add(t);
    this.touched = true;
  }

  toggleDecided() {
    const aim = this.aim(), all = range(aim).every((t) => this.decided.has(t));
    for (const t of range(aim)) all ? this.decided.delete(t) : this.decided.add(t);
    this.touched = true;
  }

  decideAll() {
    for (let t = 0; t < this.n; t++) this.decided.add(t);
  }

  // What is sent: spans that are decided wholly; all their tokens, and others that are decided, are said.
  answer() {
    const spans = this.spans.filter((span) => this.isDecided(span));
    const undecided = [];
    for (let t = 0; t < this.n; t++) if (!this.decided.has(t) || (this.spanAt(t) && !spans.includes(this.spanAt(t)))) undecided.push(t);
    return { spans: spans.map(({ start, stop, type }) => [start, stop, type]), undecided };
  }
}

export function range({ start, stop }) {
  return Array.from({ length: stop - start }, (_, i) => start + i);
}
