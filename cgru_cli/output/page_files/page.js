// The page: the text, the models, and what is set.

import { Pane } from "./panes.js";
import { chooseNothing, keepChosen, lookAt, redraw, show } from "./sentence.js";
import { copyText, watch } from "./source.js";
import { copy, element, sentencesOf } from "./text.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
let models = [];
let panes = [];

const tell = (text, wrong = false) => {
  $("status").textContent = text;
  $("status").classList.toggle("wrong", wrong);
};

// --- translating ---------------------------------------------------------------------------------

function translate() {
  copyText();
  showPanes();
  const paragraphs = sentencesOf($("source").value, $("by-line").checked);
  for (const pane of panes) pane.translate(paragraphs);
}

function showPanes() {
  panes = models.filter((model) => model.box.checked).map((model) => {
    const title = models.length > 1 ? `Translation by ${model.name}` : "Translation";
    model.pane ??= new Pane(model, title, show, report);
    return model.pane;
  });
  const shown = [...$("outputs").children];
  if (panes.length !== shown.length || panes.some((pane, i) => pane.element !== shown[i])) {
    $("outputs").replaceChildren(...panes.map((pane) => pane.element));
  }
}

// The state of all panes, beside the button that translates.
function report() {
  const sum = (field) => panes.reduce((total, pane) => total + pane[field], 0);
  const done = sum("done");
  const total = sum("total");
  const failed = panes.filter((pane) => pane.error);
  const busy = panes.some((pane) => pane.busy);
  $("stop").hidden = !busy;
  if (!total) chooseNothing();
  else if (!busy) keepChosen(panes);
  if (busy && done < total) tell(`${done} of ${total} sentences`);
  else if (failed.length) {
    const several = `${failed.length} of ${panes.length} models failed`;
    tell(panes.length > 1 ? several : failed[0].error, true);
  } else tell(!total ? "" : done < total ? `Stopped: ${done} of ${total} sentences` : "Ready");
}

// --- the page ------------------------------------------------------------------------------------

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String(dark));
}

function pressed(button, other) {
  button.setAttribute("aria-pressed", "true");
  other.setAttribute("aria-pressed", "false");
  redraw();
}

function fragment() {
  const names = models.filter((model) => model.box.checked).map((model) => model.name);
  const asked = new URLSearchParams({ text: $("source").value });
  if (models.length > 1) asked.set("models", names.join(","));
  if ($("by-line").checked) asked.set("lines", "1");
  return asked;
}

async function begin() {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const kept = localStorage.getItem("theme");
  setTheme(kept ? kept === "dark" : system.matches);
  system.addEventListener("change", () => {
    if (!localStorage.getItem("theme")) setTheme(system.matches);
  });
  $("theme").onclick = () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    localStorage.setItem("theme", dark ? "dark" : "light");
    setTheme(dark);
  };
  $("translate").onclick = translate;
  $("stop").onclick = () => panes.forEach((pane) => pane.stop());
  $("source").onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      translate();
    }
  };
  $("confidence").onchange = () => {
    $("outputs").classList.toggle("confident", $("confidence").checked);
    $("legend").hidden = !$("confidence").checked;
  };
  $("as-links").onclick = () => pressed($("as-links"), $("as-map"));
  $("as-map").onclick = () => pressed($("as-map"), $("as-links"));
  $("detailed").onclick = () => {
    $("detailed").setAttribute("aria-pressed", $("detailed").getAttribute("aria-pressed") !== "true");
    redraw();
  };
  $("sentence").ontoggle = redraw;
  watch((place, byCaret) => lookAt(panes, place, byCaret));
  $("source").oninput = () => {
    copyText();
    panes.forEach((pane) => pane.outdated());
  };
  $("link").onclick = async () => {
    history.replaceState(null, "", `#${fragment()}`);
    await copy(location.href);
    tell("The link is copied");
  };
  models = await translator.models(tell);
  tell("");
  const asked = new URLSearchParams(location.hash.slice(1));
  const names = asked.get("models")?.split(",");
  models.forEach((model, index) => {
    model.box = element("input", { type: "checkbox" });
    model.box.checked = names ? names.includes(model.name) : index === 0;
    model.box.onchange = () => $("source").value.trim() && translate();
    const label = element("label", {}, model.box, model.name);
    if (models.length > 1) $("models").append(label);
  });
  $("models").hidden = models.length < 2;
  $("by-line").checked = asked.has("text") ? asked.has("lines") : !models[0].raw_text;
  showPanes();
  if (asked.has("text")) {
    $("source").value = asked.get("text");
    translate();
  } else {
    $("source").focus();
  }
}

begin().catch((error) => tell(error.message, true));
