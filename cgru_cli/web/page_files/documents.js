// Documents that are chosen or dropped on the page: translated by the server, and downloaded.

import { element } from "./element.js";
import * as translator from "./translator.js";

const $ = (id) => document.getElementById(id);

// model(): returns the model that translates; undefined if none is chosen. A page without a server does
// not translate documents.
export function prepareDocuments(model) {
  if (!translator.translatedDocument) return;
  const start = (files) => Array.from(files, (file) => translate(file, model()));
  $("document").hidden = false;
  $("document").onclick = () => $("file").click();
  $("file").onchange = () => {
    start($("file").files);
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
    start(event.dataTransfer.files);
  });
}

// Translates a document; its row shows the progress, then a link to the file or the error.
async function translate(file, model) {
  const stop = new AbortController();
  const text = element("span", { textContent: `${file.name} …` });
  text.setAttribute("role", "status");
  const bar = element("progress");
  bar.setAttribute("aria-label", file.name);
  const end = element("button", { type: "button", className: "quiet" });
  const label = (action) => Object.assign(end,
    { textContent: action, ariaLabel: `${action} ${file.name}` });
  label("Cancel");
  const row = element("li", {}, text, bar, end);
  end.onclick = () => {
    stop.abort();
    row.remove();
  };
  $("documents").prepend(row);
  try {
    if (!model) throw new Error("Choose the source language first.");
    for await (const { done, sentences, blob } of
      translator.translatedDocument(file, model.name, stop.signal)) {
      if (blob) text.replaceChildren(download(blob, nameOf(file.name, model.languages?.target)));
      else text.textContent = `${file.name}: ${done} of ${sentences || "…"} sentences`;
      if (sentences) Object.assign(bar, { max: sentences, value: done });
    }
  } catch (error) {
    text.className = "wrong";
    const named = error.message.startsWith(`${file.name}: `);
    text.textContent = named ? error.message : `${file.name}: ${error.message}`;
  }
  bar.remove();
  label("Remove");
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
