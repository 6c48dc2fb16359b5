// One sentence: its words, attention, other translations, and other words at a place.

import { arrows, drawLinks, drawMap } from "./attention.js";
import { element, pieces } from "./text.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
const OTHERS = 5; // number of words at a place
let chosen = null; // {pane, line, hypothesis}
let drawn = null; // highlights words in the attention on display

const spotlight = {
  look(side, index) {
    drawn?.(side, index);
    for (const word of chosen?.line.holder.querySelectorAll(".word") ?? []) {
      const rows = word.dataset.words.split(" ").map(Number);
      const weights = rows.map((t) => (side === "target" ? +(t === index)
        : side === "source" ? chosen.hypothesis.alignment?.[t]?.[index] ?? 0 : 0));
      const weight = Math.max(...weights);
      word.classList.toggle("lit", weight >= 0.02);
      word.style.setProperty("--weight", weight);
    }
  },
};

// Shows the translation of a sentence in its place.
export function show(pane, line) {
  const { holder, shown: hypothesis } = line;
  holder.dataset.text = hypothesis?.text ?? "";
  if (!hypothesis) return holder.replaceChildren("");
  const parts = pieces(hypothesis.text, hypothesis.words).map(({ text, words }) => {
    if (!words.length) return text;
    const word = element("button", { type: "button", className: "word", textContent: text });
    word.dataset.words = words.join(" ");
    const scores = words.map((w) => hypothesis.word_scores?.[w] ?? 0);
    const probability = Math.exp(scores.reduce((sum, score) => sum + score, 0));
    word.title = `${Math.round(100 * probability)} % sure; click for other words`;
    if (probability < 0.6) word.classList.add(probability < 0.25 ? "lost" : "unsure");
    const look = () => {
      choose(pane, line);
      spotlight.look("target", words[0]);
    };
    word.addEventListener("pointerenter", look);
    word.addEventListener("focus", look);
    word.addEventListener("pointerleave", () => spotlight.look(null));
    word.addEventListener("blur", () => spotlight.look(null));
    word.onclick = () => alternatives(pane, line, word, words[0]);
    return word;
  });
  holder.replaceChildren(...parts, " ");
  arrows(pane.text);
}

export function chooseNothing() {
  $("sentence").hidden = true;
  chosen = null;
}

// Shows what belongs to a sentence; `rather`: unless one is shown.
export function choose(pane, line, rather = false) {
  if (chosen && (rather || (chosen.line === line && chosen.hypothesis === line.shown))) return;
  chosen?.line.holder.classList.remove("chosen");
  line.holder.classList.add("chosen");
  chosen = { pane, line, hypothesis: line.shown };
  $("sentence").hidden = false;
  drawAttention();
  drawOthers();
}

export function drawAttention() {
  const holder = $("attention");
  if (!chosen) return;
  if (!chosen.hypothesis.alignment?.length) {
    drawn = null;
    return holder.replaceChildren(element("p", {
      className: "hint", textContent: "There is no attention to show.",
    }));
  }
  const asMap = $("as-map").getAttribute("aria-pressed") === "true";
  drawn = (asMap ? drawMap : drawLinks)(holder, chosen, spotlight);
}

function drawOthers() {
  const { pane, line, hypothesis } = chosen;
  const list = element("ol");
  for (const one of line.hypotheses) {
    const score = element("span", { className: "score", textContent: one.total.toFixed(2) });
    const button = element("button", { type: "button" }, score,
      element("span", { dir: "auto", textContent: one.text }));
    button.setAttribute("aria-current", String(one === hypothesis));
    button.onclick = () => {
      replace(pane, line, one);
      $("others").querySelector('[aria-current="true"]')?.focus();
    };
    list.append(element("li", {}, button));
  }
  const title = element("h2", { textContent: "Other translations, by their score" });
  $("others").replaceChildren(...(line.hypotheses.length > 1 ? [title, list] : []));
}

function replace(pane, line, hypothesis) {
  line.shown = hypothesis;
  show(pane, line);
  choose(pane, line);
}

// The model's best words at a place, each with the resulting translation.
async function alternatives(pane, line, word, place) {
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
  try {
    const { alternatives: found } = await translator.alternatives({
      text: line.input, prefix: line.shown.words.slice(0, place), count: OTHERS,
      model: pane.model.name, alignment: pane.model.attention, word_scores: true,
    });
    $("choices-list").replaceChildren(...found.map((one) => {
      const parts = pieces(one.text, one.words);
      const at = parts.findIndex(({ words }) => words.includes(place));
      const rest = parts.slice(at + 1).map(({ text }) => text).join("").trim();
      const name = one.word === null ? "(end)" : parts[at]?.text ?? one.word;
      const button = element("button", { type: "button" },
        element("span", { className: "share", textContent: `${Math.round(100 * one.probability)} %` }),
        element("strong", { dir: "auto", textContent: name }),
        element("span", { className: "rest", dir: "auto", textContent: at < 0 ? "" : rest }));
      button.style.setProperty("--share", `${100 * one.probability}%`);
      button.onclick = () => {
        if (!line.hypotheses.some(({ text }) => text === one.text)) line.hypotheses.push(one);
        replace(pane, line, one);
        popover.hidePopover();
        line.holder.querySelector(".word")?.focus();
      };
      return element("li", {}, button);
    }));
    $("choices-list").querySelector("button")?.focus();
  } catch (error) {
    say(error.message, "failure");
  }
}
