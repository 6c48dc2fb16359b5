// Splits text into the words of a vocabulary, and joins them, as SentencePiece and subword-nmt do.

const SPACE = "\u2581"; // SentencePiece's mark of a space
const UNKNOWN_PENALTY = 10; // subtracted from the worst score, for a character without a piece
const [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6]; // kinds of pieces

// The characters that separate words for Python's str.split().
const SPACES = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const REMOVED = /[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufeff]/g;

const words = (line) => line.split(" ").filter(Boolean);

// --- a vocabulary --------------------------------------------------------------------------------

// The words and ids of one side of a model. `stored` is written by cgru_cli/web/site.py.
export class Vocabulary {
  constructor(stored) {
    this.words = stored.words; // by id
    this.unknown = stored.unknown;
    this.end = stored.end;
    this.ids = new Map(stored.ids);
    this.pieces = stored.pieces ? new SentencePiece(stored.pieces) : null;
  }

  tokens(line) {
    return this.pieces ? this.pieces.split(line) : words(line);
  }

  encode(tokens) {
    return tokens.map((token) => this.ids.get(token) ?? this.unknown);
  }

  decode(ids) {
    const end = ids.indexOf(this.end);
    const kept = end < 0 ? ids : ids.slice(0, end);
    return kept.map((id) => this.words[id] ?? this.words[this.unknown] ?? "UNK");
  }

  // The line of text with these words.
  line(tokens) {
    return this.pieces ? this.pieces.join(tokens).replaceAll("\n", " ") : tokens.join(" ");
  }
}

// --- the preparation of raw text -----------------------------------------------------------------

// The preparation of raw text by `cgru prep`, without the steps that web.py refuses.
export class Preparation {
  constructor(stored) {
    this.form = stored.unicode === "none" ? null : stored.unicode.toUpperCase();
    this.lower = stored.lower;
    this.sentencepiece = stored.sentencepiece; // SentencePiece's, here or in the vocabulary
    const Kind = stored.sentencepiece ? SentencePiece : Codes;
    this.splitters = stored.splitters.map((one) => one && new Kind(one)); // source and target
  }

  apply(line) {
    let text = line.replace(REMOVED, "");
    if (this.form) text = text.normalize(this.form);
    if (this.sentencepiece) text = text.replaceAll(SPACE, "_");
    text = text.split(SPACES).filter(Boolean).join(" ");
    if (this.lower) text = text.toLowerCase();
    const [splitter] = this.splitters;
    return splitter ? splitter.split(text).join(" ") : text;
  }

  undo(line) {
    const splitter = this.splitters[1];
    const pieces = words(line);
    if (!splitter) return pieces.join(" ");
    const text = splitter.join(pieces);
    if (!this.sentencepiece) return text;
    return text.replaceAll("\n", " ").replaceAll(SPACE, " ").replace(/^ /, "");
  }
}

// --- SentencePiece -------------------------------------------------------------------------------

class SentencePiece {
  constructor({ kind, pieces, scores, kinds, spaces, charsmap, byteFallback, unknownText }) {
    Object.assign(this, { kind, kinds, spaces, byteFallback, unknownText });
    this.scores = Float32Array.from(scores);
    this.charsmap = charsmap ? new CharacterMap(charsmap) : null;
    this.known = new Map(); // pieces that text may be split into
    this.special = new Map(); // unknown, control and byte pieces
    this.longest = 0; // characters of a piece
    let [least, most] = [Infinity, 0]; // SentencePiece begins with FLT_MIN, not with -FLT_MAX
    pieces.forEach((piece, id) => {
      const ordinary = [NORMAL, USER_DEFINED, UNUSED].includes(kinds[id]);
      (ordinary ? this.known : this.special).set(piece, id);
      if (ordinary) this.longest = Math.max(this.longest, [...piece].length);
      if (kinds[id] !== NORMAL) return;
      least = Math.min(least, this.scores[id]);
      most = Math.max(most, this.scores[id]);
    });
    this.unknownScore = Math.fround(least - UNKNOWN_PENALTY);
    this.best = most;
    const own = pieces.filter((_, id) => kinds[id] === USER_DEFINED).map((piece) => [...piece]);
    this.userDefined = own.sort((a, b) => b.length - a.length); // they stand in text unchanged
  }

  split(line) {
    const characters = this.normalized(line);
    const found = this.kind === "unigram" ? this.mostProbable(characters) : this.merged(characters);
    const pieces = [];
    let unknownBefore = false;
    for (const piece of found) {
      const unknown = !this.known.has(piece);
      if (unknown && this.byteFallback) {
        for (const byte of new TextEncoder().encode(piece)) {
          pieces.push(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
        }
      } else if (unknown && unknownBefore) {
        pieces[pieces.length - 1] += piece; // unknown characters in a row are one piece
      } else {
        pieces.push(piece);
      }
      unknownBefore = unknown;
    }
    return pieces;
  }

  join(pieces) {
    let text = "";
    let bytes = [];
    let begins = true; // whether a leading space may still be removed
    const { prefix, collapse } = this.spaces;
    const spell = () => {
      if (bytes.length) text += utf8(bytes);
      bytes = [];
    };
    for (const piece of pieces) {
      const id = this.known.get(piece) ?? this.special.get(piece);
      if (this.kinds[id] === BYTE) {
        bytes.push(parseInt(piece.slice(3, 5), 16));
        continue;
      }
      spell();
      if (text) begins = false;
      if (id === undefined) text += piece;
      else if (this.kinds[id] === UNKNOWN) text += this.unknownText;
      else if (this.kinds[id] !== CONTROL) {
        let shown = piece;
        if (begins && (prefix || collapse) && shown.startsWith(SPACE)) {
          shown = shown.slice(1);
          if (!collapse) begins = false;
        }
        text += shown.replaceAll(SPACE, " ");
      }
    }
    spell();
    return text;
  }

  // The characters of normalised text.
  normalized(line) {
    const { prefix, collapse, escape, suffix } = this.spaces;
    const space = escape ? SPACE : " ";
    const input = [...line];
    let place = 0;
    while (collapse && place < input.length) {
      const [shown, used] = this.beginning(input, place);
      if (shown.join("") !== " ") break;
      place += used;
    }
    if (place === input.length) return [];
    const result = prefix && !suffix ? [space] : [];
    let spaceBefore = collapse;
    while (place < input.length) {
      let [shown, used] = this.beginning(input, place);
      place += used;
      while (spaceBefore && shown[0] === " ") shown = shown.slice(1);
      result.push(...shown.map((one) => (one === " " ? space : one)));
      if (shown.length) spaceBefore = collapse && shown.at(-1) === " ";
    }
    while (collapse && result.at(-1) === space) result.pop();
    if (prefix && suffix) result.push(space);
    return result;
  }

  // The normalised characters at a place, and how many characters they replace.
  beginning(input, place) {
    const own = this.ownPiece(input, place);
    return own ? [own, own.length] : this.charsmap?.longest(input, place) ?? [[input[place]], 1];
  }

  // The characters of the longest user-defined piece at a place.
  ownPiece(input, place) {
    return this.userDefined.find((piece) => piece.every((one, i) => one === input[place + i]));
  }

  // The most probable pieces: a unigram model (Kudo 2018), with SentencePiece's single precision.
  mostProbable(characters) {
    const size = characters.length;
    const ends = Array.from({ length: size + 1 }, () => ({ score: 0, start: -1 }));
    for (let start = 0; start < size; start++) {
      const before = ends[start].score;
      const consider = (end, score) => {
        const total = Math.fround(score + before);
        if (ends[end].start < 0 || total > ends[end].score) ends[end] = { score: total, start };
      };
      let piece = "";
      let alone = false; // whether the character is a piece
      for (let end = start + 1; end <= size && end - start <= this.longest; end++) {
        piece += characters[end - 1];
        const id = this.known.get(piece);
        if (id === undefined || this.kinds[id] === UNUSED) continue;
        const bytes = () => new TextEncoder().encode(piece).length;
        const own = this.kinds[id] === USER_DEFINED;
        consider(end, own ? Math.fround(bytes() * this.best - 0.1) : this.scores[id]);
        alone ||= end === start + 1;
      }
      if (!alone) consider(start + 1, this.unknownScore);
    }
    const pieces = [];
    for (let end = size; end > 0; end = ends[end].start) {
      pieces.push(characters.slice(ends[end].start, end).join(""));
    }
    return pieces.reverse();
  }

  // Merges the pair with the best score (the first of equals) until no pair is a piece.
  merged(characters) {
    let symbols = [];
    for (let place = 0; place < characters.length;) {
      const own = this.ownPiece(characters, place) ?? [];
      const text = own.join("") || characters[place];
      symbols.push({ text, frozen: own.length > 0 });
      place += own.length || 1;
    }
    const origin = new Map(); // of unused pieces: the pair that they came from
    for (;;) {
      let best = null;
      for (let i = 0; i + 1 < symbols.length; i++) {
        const [left, right] = [symbols[i], symbols[i + 1]];
        const id = left.frozen || right.frozen ? undefined : this.known.get(left.text + right.text);
        if (id === undefined) continue;
        if (this.kinds[id] === UNUSED) origin.set(left.text + right.text, [left.text, right.text]);
        if (!best || this.scores[id] > best.score) best = { i, score: this.scores[id] };
      }
      if (!best) break;
      const { i } = best;
      const text = symbols[i].text + symbols[i + 1].text;
      symbols = [...symbols.slice(0, i), { text, frozen: false }, ...symbols.slice(i + 2)];
    }
    const used = (text) => (this.kinds[this.known.get(text)] === UNUSED && origin.has(text)
      ? origin.get(text).flatMap(used) : [text]);
    return symbols.flatMap(({ text }) => used(text));
  }
}

// Bytes as text; each byte that is no part of a character becomes U+FFFD.
function utf8(bytes) {
  let text = "";
  for (let place = 0; place < bytes.length;) {
    const first = bytes[place];
    const size = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
    try {
      const part = Uint8Array.from(bytes.slice(place, place + size));
      text += new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(part);
      place += size;
    } catch {
      text += "\ufffd";
      place += 1;
    }
  }
  return text;
}

// SentencePiece's replacements of characters: a double array (Aoe 1989) whose values are places in
// a list of texts that end with a zero.
class CharacterMap {
  constructor(base64) {
    const bytes = Uint8Array.from(atob(base64), (one) => one.charCodeAt(0));
    const size = new DataView(bytes.buffer).getUint32(0, true);
    this.units = new Uint32Array(bytes.buffer.slice(4, 4 + size));
    this.texts = bytes.subarray(4 + size);
  }

  // The replacement of the longest known beginning, and how many characters it replaces.
  longest(input, place) {
    const { units } = this;
    let node = this.offset(units[0]);
    let found = null;
    let value = -1;
    for (let end = place; end < input.length; end++, value = -1) {
      for (const byte of new TextEncoder().encode(input[end])) {
        node ^= byte;
        const unit = units[node];
        if ((unit & 0x800000ff) >>> 0 !== byte) return found;
        node ^= this.offset(unit);
        value = (unit >>> 8) & 1 ? units[node] & 0x7fffffff : -1;
      }
      if (value >= 0) found = [this.text(value), end - place + 1];
    }
    return found;
  }

  offset(unit) {
    return (unit >>> 10) << ((unit & (1 << 9)) >>> 6);
  }

  text(start) {
    const end = this.texts.indexOf(0, start);
    return [...new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.texts.subarray(start, end))];
  }
}

// --- subword-nmt ---------------------------------------------------------------------------------

// Merges of subword-nmt (Sennrich et al. 2016), of its versions 0.1 and 0.2.
class Codes {
  constructor(text) {
    const lines = text.replace(/\n+$/, "").split("\n");
    const versioned = lines[0].startsWith("#version:");
    this.apart = !versioned || /0\.1/.test(lines[0]); // whether the end of a word is a symbol
    this.ranks = new Map();
    lines.slice(+versioned).forEach((line, rank) => {
      const pair = line.replace(/^[\r ]+|[\r ]+$/g, "");
      if (!this.ranks.has(pair)) this.ranks.set(pair, rank);
    });
  }

  split(line) {
    return words(line).flatMap((word) => {
      const parts = this.merged(word).map((part, i, all) => (i < all.length - 1 ? `${part}@@` : part));
      const last = parts.at(-1);
      if (word.endsWith("@@") && last.endsWith("@@")) parts.splice(-1, 1, `${last.slice(0, -1)}@@`, "@");
      return parts;
    });
  }

  join(pieces) {
    const joined = pieces.map((piece) => (piece.endsWith("@@") ? piece.slice(0, -2) : `${piece} `));
    return joined.join("").replace(/ $/, "");
  }

  merged(word) {
    let parts = [...word];
    if (parts.length === 1) return parts;
    if (this.apart) parts.push("</w>");
    else parts[parts.length - 1] += "</w>";
    while (parts.length > 1) {
      let best = null;
      for (let i = 0; i + 1 < parts.length; i++) {
        const pair = `${parts[i]} ${parts[i + 1]}`;
        const rank = this.ranks.get(pair);
        if (rank !== undefined && (!best || rank < best.rank)) best = { rank, pair };
      }
      if (!best) break;
      const joined = [];
      for (let i = 0; i < parts.length; i++) {
        if (i + 1 < parts.length && `${parts[i]} ${parts[i + 1]}` === best.pair) {
          joined.push(parts[i] + parts[++i]);
        } else joined.push(parts[i]);
      }
      parts = joined;
    }
    if (parts.at(-1) === "</w>") parts.pop();
    else if (parts.at(-1).endsWith("</w>")) parts[parts.length - 1] = parts.at(-1).slice(0, -4);
    return parts;
  }
}
