// Text: its sentences, and its words with the model's pieces.

import { element } from "./element.js";

// The paragraphs of a text, as lists of sentences {text, start}. Each line is a paragraph and, if
// `byLine`, one sentence. start: index of the sentence in the text.
export function sentencesOf(text, byLine) {
  const segmenter = !byLine && Intl.Segmenter && new Intl.Segmenter([], { granularity: "sentence" });
  let place = 0;
  return text.split("\n").map((line) => {
    const parts = segmenter ? Array.from(segmenter.segment(line))
      : [{ segment: line, index: 0 }];
    const found = parts.map(({ segment, index }) => ({
      text: segment.trim(), start: place + index + segment.length - segment.trimStart().length,
    }));
    place += line.length + 1;
    return found.filter((sentence) => sentence.text);
  });
}

// The text in lower case, with characters normalised (NFKC) where that keeps its length.
function folded(text) {
  return Array.from(text, (c) => {
    const plain = c.normalize("NFKC").toLowerCase();
    return plain.length === c.length ? plain : c;
  }).join("");
}

const ESCAPED = { apos: "'", quot: '"', amp: "&", lt: "<", gt: ">", "#91": "[", "#93": "]", "#124": "|" };

// Forms in which a piece may appear in text: without sub-word marks, and without Moses' escapes.
function surfaces(piece) {
  const plain = folded(piece.replace(/@@$/, "").replaceAll("▁", ""));
  const escape = (whole, name) => ESCAPED[name] ?? whole;
  return [plain, plain.replace(/^@(-)@$/, "$1").replace(/&(#?\w+);/g, escape)];
}

// The places of pieces in a text: [{start, end, pieces}]. Pieces that differ from the text, because
// normalisation changed it, share the text between the other pieces.
function placed(text, pieces) {
  const plain = folded(text);
  const found = [];
  let place = 0;
  let waiting = [];
  pieces.forEach((piece, index) => {
    const least = (best, surface) => {
      const at = surface ? plain.indexOf(surface, place) : -1;
      return at < 0 || (best && best.start <= at) ? best : { start: at, end: at + surface.length };
    };
    const at = surfaces(piece).reduce(least, null);
    const left = at ? text.slice(place, at.start) : "";
    const skipped = left.trim().length;
    if (!at || skipped > 4 + 8 * waiting.length) return waiting.push(index);
    if (skipped && waiting.length) found.push(...shared(left, place, waiting, pieces));
    found.push({ ...at, pieces: skipped ? [index] : [...waiting, index] });
    waiting = [];
    place = at.end;
    if (piece.endsWith("@@") && text.startsWith("@@", place)) found.at(-1).end = place += 2;
  });
  if (text.slice(place).trim()) found.push(...shared(text.slice(place), place, waiting, pieces));
  else found.at(-1)?.pieces.push(...waiting);
  return found;
}

// Distributes the remaining pieces over the words of a text that starts at `place`.
function shared(text, place, indices, pieces) {
  const marked = pieces.some((piece) => piece.startsWith("▁"));
  const found = Array.from(text.matchAll(/\S+/g), (word) => ({
    start: place + word.index, end: place + word.index + word[0].length, pieces: [],
  }));
  let at = 0;
  indices.forEach((index, i) => {
    const begins = marked ? pieces[index].startsWith("▁") : !pieces[index - 1]?.endsWith("@@");
    if (i && begins && at < found.length - 1) at += 1;
    found[at].pieces.push(index);
  });
  return found;
}

// The whole text as parts {text, start, pieces}: words with the indices of the model's pieces in
// them, and the text between words, without pieces.
export function wordsOf(text, pieces) {
  const places = placed(text, pieces);
  const segments = Intl.Segmenter ? new Intl.Segmenter([], { granularity: "word" }).segment(text)
    : text.matchAll(/\S+/g);
  const words = [];
  for (const segment of segments) {
    const start = segment.index;
    const end = start + (segment.segment ?? segment[0]).length;
    if (!text.slice(start, end).trim()) continue;
    const own = places.filter((one) => one.start < end && one.end > start)
      .flatMap((one) => one.pieces);
    const last = words.at(-1);
    if (last && own.some((piece) => last.pieces.includes(piece))) {
      last.end = end;
      last.pieces = [...new Set([...last.pieces, ...own])];
    } else if (own.length) {
      words.push({ start, end, pieces: own });
    }
  }
  const parts = [];
  let place = 0;
  for (const { start, end, pieces: own } of words) {
    if (start > place) parts.push({ text: text.slice(place, start), start: place, pieces: [] });
    parts.push({ text: text.slice(start, end), start, pieces: own });
    place = end;
  }
  if (place < text.length) parts.push({ text: text.slice(place), start: place, pieces: [] });
  return parts;
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;

// The direction of a text, which is that of its first letter.
export function direction(text) {
  return RIGHT_TO_LEFT.test(text.match(/\p{L}/u)?.[0] ?? "") ? "rtl" : "ltr";
}

// Copies text, even if the page is not served over TLS.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { value: text, className: "unseen" });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
