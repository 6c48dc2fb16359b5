// One sentence: its words, its attention, its other translations, and alternatives to a word.

import { drawLinks, firstStop, light, looked } from "./attention.js";
import { element, percent } from "./element.js";
import { HeatMap } from "./heatmap.js";
import { labelsOf } from "./models.js";
import * as source from "./source.js";
import { direction, wordsOf } from "./text.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
const OTHERS = 5; // number of translations of a sentence, and of alternatives to a word
const LEAST = 0.1; // least attention that highlights a word
const map = new HeatMap();
let chosen = null; // {pane, line, place}: the sentence of the section below
let drawn = null; // function that highlights words of the attention on display
let lit = null; // {pane, line, side, pieces}: the highlighted word

const isPressed = (id) => $(id).getAttribute("aria-pressed") === "true";

// Shows the translation of a sentence in its pane.
export function show(pane, line) {
  const { holder, shown: hypothesis } = line;
  holder.classList.remove("stale");
  holder.dataset.text = hypothesis?.text ?? "";
  const parts = hypothesis ? wordsOf(hypothesis.text, hypothesis.words) : [];
  line.words = parts.filter(({ pieces }) => pieces.length);
  line.sourceWords = wordsOf(line.input, line.source.slice(0, -1)).filter(({ pieces }) => pieces.length);
  holder.replaceChildren(...parts.map((part) => part.pieces.length
    ? wordOf(pane, line, part) : part.text), " ");
  firstStop(pane.text);
}

function wordOf(pane, line, { text, pieces }) {
  const word = element("span", { className: "word", tabIndex: -1, textContent: text });
  word.setAttribute("role", "button");
  word.setAttribute("aria-haspopup", "dialog");
  const sure = probability(pane, line.shown, pieces);
  word.title = `${percent(sure)} sure; click for other words`;
  if (sure < 0.6) word.classList.add(sure < 0.25 ? "lost" : "unsure");
  looked(word, (on, event) => {
    if (event === "focus") choose(pane, line);
    look(pane, line, on ? "target" : null, pieces);
  });
  const open = () => alternatives(pane, line, word, { text, pieces });
  word.onclick = () => getSelection().isCollapsed && open();
  word.onkeydown = (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  };
  return word;
}

// The model's probability of these pieces; for an ensemble, the geometric mean.
function probability(pane, hypothesis, pieces) {
  const scores = pieces.map((piece) => hypothesis.word_scores?.[piece] ?? 0);
  return Math.exp(scores.reduce((sum, score) => sum + score, 0) / pane.model.ensemble);
}

// --- highlighting --------------------------------------------------------------------------------

// The attention of pieces of the translation over pieces of the text.
function attention(line, target, pieces) {
  const rows = target.map((t) => line.shown.alignment?.[t]).filter(Boolean);
  const sum = rows.flatMap((row) => pieces.map((s) => row[s])).reduce((a, b) => a + b, 0);
  return rows.length ? sum / rows.length : 0;
}

// Highlights the word with these pieces, and the words aligned with it; side null: none.
async function look(pane, line, side, pieces) {
  if (lit && lit.line !== line) paint({ line: lit.line, side: null });
  const mine = (lit = { pane, line, side, pieces });
  paint(mine);
  if (!side || !pane.model.attention || line.shown.alignment) return;
  await details(pane, line).catch(() => {});
  if (lit === mine) paint(mine);
}

function paint({ line, side, pieces }) {
  const weights = (of, units) => {
    const values = units.map((unit) => {
      if (!side) return 0;
      if (of === side) return Number(unit.pieces.some((piece) => pieces.includes(piece)));
      return of === "source" ? attention(line, pieces, unit.pieces)
        : attention(line, unit.pieces, pieces);
    });
    return values.map((value) => (value >= LEAST ? value : 0));
  };
  const inText = weights("source", line.sourceWords);
  source.light(line.sourceWords.map(({ text, start }, i) => ({
    start: line.start + start, end: line.start + start + text.length, weight: inText[i],
  })).filter(({ weight }) => weight));
  light(line.holder.querySelectorAll(".word"), weights("target", line.words));
  if (chosen?.line === line) {
    drawn?.(side, weights("source", chosen.sides.source), weights("target", chosen.sides.target));
  }
}

// Highlights the word at a place of the text; byCaret: also shows the details of its sentence.
export function lookAt(panes, place, byCaret) {
  if (place === null) return lit && look(lit.pane, lit.line, null);
  for (const pane of panes) {
    if (pane.stale) continue;
    const at = ({ start, text, input }) => place >= start && place <= start + (text ?? input).length;
    const line = pane.lines.find((one) => one && at(one));
    if (!line?.shown) continue;
    const word = line.sourceWords.find(({ start, text }) => at({ start: line.start + start, text }));
    if (byCaret && pane === panes[0]) choose(pane, line);
    look(pane, line, word ? "source" : null, word?.pieces);
  }
}

// --- the section below ---------------------------------------------------------------------------

// Shows the details of a sentence in the section below.
export function choose(pane, line) {
  if (chosen?.line === line) return;
  chosen?.line.holder.classList.remove("chosen");
  line.holder.classList.add("chosen");
  chosen = { pane, line, place: pane.lines.indexOf(line), sides: { source: [], target: [] } };
  drawn = null;
  $("sentence").hidden = false;
  $("of-model").textContent = pane.model.alone ? "" : ` · ${pane.model.name}`;
  redraw();
}

// Keeps the sentence of the section or, if it is gone, chooses the sentence now in its place.
export function keepChosen(panes) {
  const lines = panes[0]?.lines.filter((line) => line?.shown) ?? [];
  if (chosen && panes.some((pane) => pane.lines.includes(chosen.line))) return;
  const line = lines[Math.min(chosen?.place ?? 0, lines.length - 1)];
  if (line) choose(panes[0], line);
}

export function chooseNothing() {
  chosen = lit = drawn = null;
  $("sentence").hidden = true;
}

export async function redraw() {
  if (!chosen || !$("sentence").open) return;
  const { pane, line } = chosen;
  try {
    await details(pane, line);
    if (chosen?.line === line) draw(pane, line);
  } catch (error) {
    $("attention").replaceChildren(element("p", { className: "failure", textContent: error.message }));
  }
}

// Requests the details of a sentence: attention and other translations.
function details(pane, line) {
  line.details ??= askDetails(pane, line).catch((error) => {
    line.details = null;
    throw error;
  });
  return line.details;
}

async function askDetails(pane, line) {
  const { name, attention: alignment, beam_size } = pane.model;
  const request = { model: name, texts: [line.input], alignment, word_scores: true };
  request.n_best = Math.min(OTHERS, beam_size);
  for await (const { hypotheses } of translator.translations(request)) {
    for (const one of hypotheses) {
      const known = line.hypotheses.find(({ words }) => words.join(" ") === one.words.join(" "));
      if (known) Object.assign(known, one);
      else line.hypotheses.push(one);
    }
  }
}

function draw(pane, line) {
  const { shown } = line;
  const inDetail = isPressed("detailed");
  const end = shown.finished && !labelsOf(pane.model) ? ["</s>"] : []; // labels have no end
  const units = (words) => words.map((text, index) => ({ text, pieces: [index] }));
  chosen.sides = inDetail
    ? { source: units(line.source), target: units([...shown.words, ...end]) }
    : { source: line.sourceWords, target: line.words };
  const { sides } = chosen;
  if (shown.alignment?.length) {
    const weight = (t, s) => attention(line, sides.target[t].pieces, sides.source[s].pieces);
    drawn = isPressed("as-map") ? drawMap(pane, line, sides, weight)
      : drawLinks($("attention"), { sides, weight, look: (...what) => look(pane, line, ...what) });
  } else {
    drawn = null;
    const reason = pane.model.attention ? "There is no attention to show." : "This model has no attention.";
    $("attention").replaceChildren(element("p", { className: "hint", textContent: reason }));
  }
  drawOthers(pane, line, inDetail);
}

function drawMap(pane, { shown }, { source: from, target }, weight) {
  const texts = (units) => units.map(({ text }) => text);
  $("attention").replaceChildren(map.element);
  map.show({
    name: `Attention of ${pane.model.name}`,
    source: texts(from),
    target: texts(target),
    weights: target.map((_, t) => from.map((_, s) => weight(t, s))),
    probabilities: target.map(({ pieces }) => probability(pane, shown, pieces)),
    rightToLeft: direction(texts(from).join(" ")) === "rtl",
  });
  return (...words) => map.light(...words);
}

function drawOthers(pane, line, inDetail) {
  const { shown } = line;
  const list = element("ol");
  const best = line.hypotheses.reduce((a, b) => (b.total > a.total ? b : a));
  line.hypotheses.sort((a, b) => b.score - a.score);
  const shares = line.hypotheses.map(({ score }) => Math.exp(score / pane.model.ensemble));
  const sum = shares.reduce((a, b) => a + b, 0);
  line.hypotheses.forEach((one, index) => {
    if (!one.text && one !== shown) return; // an empty translation
    const scores = `${percent(shares[index] / sum)} · score ${one.total.toFixed(2)} · `
      + `log-probability ${one.score.toFixed(2)}`;
    const score = element("span", { className: "score",
      textContent: inDetail ? scores : percent(shares[index] / sum) });
    const button = element("button", { type: "button" }, score,
      element("span", { dir: "auto", textContent: one.text }));
    button.setAttribute("aria-current", String(one === shown));
    button.onclick = () => {
      replace(pane, line, one);
      $("others").querySelector('[aria-current="true"]')?.focus();
    };
    list.append(element("li", {}, button));
  });
  const title = element("h2", { textContent: "Best translations, with their share of the probability" });
  const why = element("p", { className: "hint", textContent: "The model chooses the best score, which "
    + "is the log-probability per word, not the largest share.", hidden: best === line.hypotheses[0] });
  $("others").replaceChildren(...(line.hypotheses.length > 1 ? [title, list, why] : []));
}

function replace(pane, line, hypothesis) {
  line.shown = hypothesis;
  show(pane, line);
  choose(pane, line);
  draw(pane, line);
}

// --- other words ---------------------------------------------------------------------------------

// Offers the model's best words instead of a word, each with the resulting translation.
async function alternatives(pane, line, word, current) {
  const popover = $("choices");
  const box = word.getBoundingClientRect();
  const width = Math.min(30 * 17, 0.92 * innerWidth);
  popover.style.left = `${Math.max(8, Math.min(box.left, innerWidth - width - 8)) + scrollX}px`;
  popover.style.top = `${box.bottom + 6 + scrollY}px`;
  const say = (text, kind) => $("choices-list").replaceChildren(
    element("li", { className: kind, textContent: text }));
  say("…", "hint");
  popover.showPopover();
  popover.ontoggle = (event) => {
    if (event.newState === "closed" && word.isConnected) word.focus();
  };
  const place = current.pieces[0];
  try {
    const { alternatives: found } = await translator.alternatives({
      text: line.input, prefix: line.shown.words.slice(0, place), model: pane.model.name,
      count: Math.min(OTHERS + 1, pane.model.limits?.beam_size ?? OTHERS + 1),
      alignment: pane.model.attention, word_scores: true,
    });
    const choices = wholeWords(pane, found, place).filter(({ text }) => text !== current.text);
    if (!choices.length) return say("The model has no other words here.", "hint");
    $("choices-list").replaceChildren(...choices.map(({ text, one, share, rest }) => {
      const button = element("button", { type: "button" },
        element("span", { className: "share", textContent: percent(share) }),
        element("strong", { dir: "auto", textContent: text ?? "(end)" }),
        element("span", { className: "rest", dir: "auto", textContent: rest }));
      button.style.setProperty("--share", `${100 * share}%`);
      button.onclick = () => {
        const known = line.hypotheses.find((other) => other.text === one.text);
        if (!known) line.hypotheses.push(one);
        replace(pane, line, known ?? one);
        popover.hidePopover();
        const index = line.words.findIndex(({ pieces }) => pieces.includes(place));
        line.holder.querySelectorAll(".word").item(Math.max(0, index))?.focus();
      };
      return element("li", {}, button);
    }));
    $("choices-list").querySelector("button").focus();
  } catch (error) {
    say(error.message, "failure");
  }
}

// Alternatives grouped by whole word: {text (null: the end), one, share, rest}, most probable first.
function wholeWords(pane, found, place) {
  const words = new Map();
  for (const one of found) {
    const parts = one.word === null ? [] : wordsOf(one.text, one.words);
    const at = parts.findIndex(({ pieces }) => pieces.includes(place));
    const text = one.word === null ? null : parts[at]?.text ?? one.word;
    const later = (parts[at]?.pieces ?? []).filter((piece) => piece > place);
    const share = one.probability * probability(pane, one, later);
    const rest = at < 0 ? "" : parts.slice(at + 1).map((part) => part.text).join("").trim();
    const known = words.get(text);
    if (known) known.share += share;
    else words.set(text, { text, one, share, rest });
  }
  return [...words.values()].sort((a, b) => b.share - a.share).slice(0, OTHERS);
}
