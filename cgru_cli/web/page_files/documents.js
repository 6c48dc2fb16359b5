// Documents that are chosen or dropped on the page: translated by the server, and downloaded.

import { element } from "./element.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);
let stop = new AbortController(); // cancels the current document

// chosen(): returns the ticked models, of which the first one translates. A page without a server does
// not translate documents.
export function prepareDocuments(chosen) {
  if (!translator.translatedDocument) return;
  const start = (file) => file && translate(file, chosen()[0]);
  $("document").hidden = false;
  $("document").onclick = () => $("file").click();
  $("file").onchange = () => {
    start($("file").files[0]);
    $("file").value = "";
  };
  const isFile = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (on) => document.body.classList.toggle("dropping", on);
  addEventListener("dragover", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget || mark(false));
  addEventListener("drop", (event) => {
    if (!isFile(event)) return;
    event.preventDefault();
    mark(false);
    start(event.dataTransfer.files[0]);
  });
}

async function translate(file, model) {
  stop.abort();
  const { signal } = (stop = new AbortController());
  const cancel = element("button", { type: "button", className: "quiet", textContent: "Cancel" });
  cancel.onclick = () => stop.abort();
  const show = (...children) => {
    if (!signal.aborted) $("document-state").replaceChildren(...children);
  };
  if (!model) return show("Tick a model.");
  show(`${file.name} …`, cancel);
  try {
    for await (const { done, sentences, blob } of
      translator.translatedDocument(file, model.name, signal)) {
      if (!blob) show(`${file.name}: ${done} of ${sentences || "…"} sentences`, cancel);
      else show(download(blob, nameOf(file.name, model.languages?.target)));
    }
  } catch (error) {
    show(element("span", { className: "wrong", textContent: `${file.name}: ${error.message}` }));
    // cancelled by the user, not by the choice of another document
    if (stop.signal === signal && signal.aborted) $("document-state").textContent = "";
  }
}

function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.textContent = `Download ${name}`;
  return link;
}

// notes.md -> notes.de.md
function nameOf(name, language = "translated") {
  const dot = name.lastIndexOf(".");
  return `${name.slice(0, dot)}.${language}${name.slice(dot)}`;
}
