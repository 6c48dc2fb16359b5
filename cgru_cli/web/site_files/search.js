// The beam search of cgru_cli/search/beam.py for one sentence, with a model in ONNX Runtime.
//
// docs/onnx.md describes the graph. Sums have single precision, as in beam.py.

const START = -1; // before the first word

// A model in a session of ONNX Runtime. `runtime` is its module.
export class Model {
  constructor(runtime, session) {
    Object.assign(this, { runtime, session });
    const named = (start) => session.outputNames.filter((name) => name.startsWith(start));
    this.cells = named("new_cells.");
    this.memory = named("new_memory.");
    this.attends = session.outputNames.includes("alignment");
    this.unread = {}; // every input, empty
    for (const one of session.inputMetadata) {
      const shape = one.shape.map((size) => (typeof size === "number" ? size : 0));
      this.unread[one.name] = this.tensor(one.type, shape);
    }
  }

  tensor(type, shape, data = []) {
    const Kind = { int32: Int32Array, float32: Float32Array, bool: Uint8Array }[type];
    const size = shape.reduce((product, n) => product * n, 1);
    const content = data.length || !size ? Kind.from(data) : new Kind(size);
    return new this.runtime.Tensor(type, content, shape);
  }

  ints(...values) {
    return this.tensor("int32", [values.length], values);
  }

  async run(task, inputs, outputs) {
    const given = { ...this.unread, ...inputs, task: this.tensor("int32", [], [task]) };
    return this.session.run(given, outputs);
  }

  // The states and the memory of a sentence, given as ids that end with that of its end.
  async begin(ids) {
    const found = await this.run(0, {
      source: this.tensor("int32", [1, ids.length, 1], ids),
      source_mask: this.tensor("float32", [1, ids.length], ids.map(() => 1)),
    }, [...this.cells, ...this.memory]);
    return {
      states: this.cells.map((name) => found[name]),
      memory: Object.fromEntries(this.memory.map((name) => [name.replace("new_", ""), found[name]])),
    };
  }

  // The `count` best words of each row, and after them the word `asked` for, if it is not null.
  async step({ states, memory }, rows, count, asked) {
    const extra = asked === null ? 0 : 1;
    const found = await this.run(1, {
      ...memory,
      ...Object.fromEntries(states.map((state, i) => [`cells.${i}`, state])),
      parents: this.ints(...rows.map((row) => row.parent)),
      previous: this.ints(...rows.map((row) => row.words.at(-1) ?? START)),
      sentence: this.ints(...rows.map(() => 0)),
      slot: this.ints(...rows.keys()),
      count: this.tensor("int32", [], [count]),
      asked: this.tensor("int32", [rows.length, extra], rows.flatMap(() => (extra ? [asked] : []))),
      banned: this.tensor("int32", [0, 2]),
    }, ["best", "log_probs", ...(this.attends ? ["alignment"] : []), ...this.cells]);
    const width = count + extra;
    const split = (tensor, size) => rows.map((_, i) => tensor.data.slice(i * size, (i + 1) * size));
    return {
      states: this.cells.map((name) => found[name]),
      best: split(found.best, width),
      logProbs: split(found.log_probs, width),
      alignments: this.attends ? split(found.alignment, found.alignment.dims[1]) : null,
    };
  }
}

// The best translations of a sentence: [{words, finished, total, scores, alignment}], best first.
//
// settings: beam, normalize (the power of the length that totals are divided by), penalty (for each
// word), unknown (a word never to write, or null), end (the id of the end), vocabulary (its size),
// limit (words of a translation), first (whether only the best one is asked for). prefix: the first
// words.
export async function search(model, source, settings, prefix = []) {
  const { beam, normalize, penalty, unknown, end, limit } = settings;
  const count = Math.min(beam + (unknown === null ? 0 : 1), settings.vocabulary);
  const total = (score, length) => (score - penalty * length) / length ** normalize;
  let { states, memory } = await model.begin(source);
  let rows = [{ parent: 0, words: [], scores: [], score: 0, alignment: [] }];
  let room = beam;
  const results = [];
  for (let length = 1; rows.length; length++) {
    const forced = prefix[length - 1] ?? null;
    const step = await model.step({ states, memory }, rows, count, forced);
    states = step.states;
    const extensions = [];
    rows.forEach((row, parent) => {
      const places = forced === null ? [...step.best[parent].keys()] : [count];
      for (const place of places) {
        const word = step.best[parent][place];
        if (forced === null && word === unknown) continue;
        const logProb = step.logProbs[parent][place];
        extensions.push({ row, parent, word, logProb, score: Math.fround(row.score + logProb) });
      }
    });
    // stable: ties go to the earlier row, then to the more probable word
    extensions.sort((a, b) => b.score - a.score);
    rows = extensions.slice(0, room).map(({ row, parent, word, logProb, score }) => ({
      parent, score, words: [...row.words, word], scores: [...row.scores, logProb],
      alignment: step.alignments && [...row.alignment, step.alignments[parent]],
    }));
    const done = rows.filter(({ words }) => words.at(-1) === end || length >= limit);
    for (const row of done) {
      results.push({ ...row, finished: row.words.at(-1) === end, total: total(row.score, length) });
    }
    room -= done.length;
    rows = rows.filter((row) => !done.includes(row));
    if (settings.first && decided(rows, results, settings)) break;
  }
  return results.sort((a, b) => b.total - a.total);
}

// Whether no row can still become better than the best result.
function decided(rows, results, { normalize, penalty, limit }) {
  if (!results.length || penalty < 0 || normalize < 0) return false;
  const best = Math.max(...results.map(({ total }) => total));
  return rows.every(({ score }) => best >= score / limit ** normalize);
}
