// Elements of a page, and numbers as people read them.

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function percent(share) {
  return share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`;
}
