// Highlights words of the source text, in an invisible copy that lies over the text field.

const field = document.getElementById("source");
const copy = document.getElementById("copy");
const LEVELS = ["faint", "clear", "strong"];
let reported = null;

// Updates the copy, which also determines the height of the field.
export function copyText() {
  copy.textContent = `${field.value}\n`;
  light([]);
}

// Highlights words {start, end, weight}.
export function light(words) {
  if (!CSS.highlights) return;
  const text = copy.firstChild;
  LEVELS.forEach((level, index) => {
    const ranges = words.filter(({ weight }) => index === Math.min(2, Math.floor(3 * weight)))
      .map(({ start, end }) => {
        const range = new Range();
        range.setStart(text, start);
        range.setEnd(text, end);
        return range;
      });
    CSS.highlights.set(level, new Highlight(...ranges));
  });
}

// Calls look(place, byCaret) with the place in the text at the pointer or at the caret; null: none.
export function watch(look) {
  const report = (place, byCaret) => {
    if (place === reported) return;
    reported = place;
    look(place, byCaret);
  };
  field.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    copy.classList.add("reached");
    const at = document.caretPositionFromPoint?.(event.clientX, event.clientY);
    const range = at ? null : document.caretRangeFromPoint?.(event.clientX, event.clientY);
    copy.classList.remove("reached");
    const [node, offset] = [at?.offsetNode ?? range?.startContainer, at?.offset ?? range?.startOffset];
    report(node === copy.firstChild ? offset : null, false);
  });
  field.addEventListener("pointerleave", () => report(null, false));
  field.addEventListener("blur", () => report(null, true));
  document.addEventListener("selectionchange", () => {
    if (document.activeElement === field) report(field.selectionStart, true);
  });
}
