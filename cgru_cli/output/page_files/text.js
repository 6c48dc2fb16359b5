// Splits text into sentences, and finds a translation's words in its text.

// Paragraphs of sentences; a line is a paragraph and, if `byLine`, one sentence.
export function sentencesOf(text, byLine) {
  const segmenter = !byLine && Intl.Segmenter && new Intl.Segmenter([], { granularity: "sentence" });
  return text.split("\n").map((line) => {
    if (!line.trim()) return [];
    if (!segmenter) return [line.trim()];
    const parts = Array.from(segmenter.segment(line), (part) => part.segment.trim());
    return parts.filter(Boolean);
  });
}

// A word of the model as it appears in text, without marks of subwords.
function surface(word) {
  return word.replace(/@@$/, "").replaceAll("▁", "");
}

// The text as pieces {text, words}: words are the indices of a piece's words in the model, none
// for the text between words. Subwords of one word are one piece.
export function pieces(text, words) {
  const found = [];
  let place = 0;
  const lower = text.toLowerCase();
  words.forEach((word, index) => {
    const shown = surface(word);
    const at = shown ? lower.indexOf(shown.toLowerCase(), place) : place;
    const last = found.at(-1);
    const glued = last && at === place && last.words.length && !text.slice(last.end, at);
    if (!shown || at < 0 || text.slice(place, at).trim()) {
      if (last) last.words.push(index); // was changed when the text was joined
      else found.push({ start: 0, end: 0, words: [index] });
    } else if (glued && (words[index - 1].endsWith("@@") || isSubword(word, words))) {
      last.words.push(index);
      last.end = at + shown.length;
    } else {
      found.push({ start: at, end: at + shown.length, words: [index] });
    }
    place = found.at(-1).end;
    // joiners that are text, such as the marks of a word in the middle of a line
    if (text.startsWith("@@", place)) found.at(-1).end = place += 2;
  });
  const all = [];
  let end = 0;
  for (const piece of found) {
    if (piece.start > end) all.push({ text: text.slice(end, piece.start), words: [] });
    if (piece.end > piece.start) {
      all.push({ text: text.slice(piece.start, piece.end), words: piece.words });
    }
    end = Math.max(end, piece.end);
  }
  if (end < text.length) all.push({ text: text.slice(end), words: [] });
  return all;
}

function isSubword(word, words) {
  return !word.startsWith("▁") && words.some((other) => other.startsWith("▁"));
}

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
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
