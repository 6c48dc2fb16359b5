// Languages and kinds of models, as users read them.

const names = new Intl.DisplayNames(["en"], { type: "language" });

// The English name of a language, such as German for de; "": a model does not state it.
export function languageName(code) {
  try {
    return code ? names.of(code) : "Not stated";
  } catch {
    return code; // not a language code
  }
}

// Whether two models translate between the same languages.
export function same({ languages: one }, { languages: other }) {
  return one?.source === other?.source && one?.target === other?.target;
}

// The model of the reverse direction.
export function reverseOf({ languages }, models) {
  return languages && models.find(({ languages: of }) =>
    of?.source === languages.target && of.target === languages.source);
}

// The unit that a model labels; undefined if it writes text.
export const labelsOf = ({ type }) => ({ classifier: "sentence", tagger: "word" })[type];

// How the page describes a model's input and output: {placeholder, output, note}.
export function kindOf(model) {
  const { reads_source, raw_text, languages } = model;
  const labelled = labelsOf(model);
  const prepared = raw_text === false;
  const kind = {
    placeholder: prepared ? "Type prepared text here, one sentence per line"
      : "Type or paste text here",
    output: languages ? languageName(languages.target) : "Translation",
    note: prepared ? "This model expects text as it was trained on: words and punctuation separated "
      + "by spaces, in sub-words if it has them." : "",
  };
  if (labelled) {
    kind.output = labelled === "sentence" ? "Label" : "Labels";
    kind.note = `This model labels each ${labelled}. ${kind.note}`.trim();
  } else if (!reads_source) {
    kind.output = "Generated text";
    kind.note = "This is a language model: what it writes does not depend on the text.";
  }
  return kind;
}
