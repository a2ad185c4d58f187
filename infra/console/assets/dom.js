// Makes elements. Text becomes text nodes and nothing else: there is no way through here to markup, so what came from users
// cannot become any.

const PROPERTIES = new Set(['value', 'checked', 'disabled', 'indeterminate', 'selected', 'open', 'hidden']);
const SVG = 'http://www.w3.org/2000/svg';

/** An element with attributes, listeners (`onclick: …`) and children: elements, texts, lists of them, or nothing. */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for drawings. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (PROPERTIES.has(name)) element[name] = value;
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...present(children));
  // The value of a select exists only once its options do.
  if (tagOf(element) === 'select' && attributes?.value !== undefined) element.value = attributes.value;
  return element;
}

function tagOf(element) {
  return element.tagName.toLowerCase();
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Puts these children in place of whatever was there. */
export function fill(parent, ...children) {
  parent.replaceChildren(...present(children));
  return parent;
}

/** Has an element say this, and leaves its text alone where it says so already. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Shows rows in order, and leaves the elements of those that have not changed alone, with their focus and selection.
    A row is `{key, state, make}`; `state` is anything that JSON tells apart. */
export function keyed(parent, rows) {
  const standing = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  const wanted = rows.map(({ key, state, make }) => {
    const text = JSON.stringify(state);
    const found = standing.get(String(key));
    if (found && found.dataset.state === text) return found;
    const element = make();
    element.dataset.key = key;
    element.dataset.state = text;
    if (found?.contains(document.activeElement)) takeFocusOver(found, element);
    return element;
  });
  const kept = new Set(wanted);
  for (const child of [...parent.children]) if (!kept.has(child)) child.remove();
  wanted.forEach((element, index) => {
    if (parent.children[index] !== element) parent.insertBefore(element, parent.children[index] ?? null);
  });
}

/** Whoever stands on a button with the keyboard stays on the same one when its row is drawn anew. */
function takeFocusOver(from, to) {
  const name = document.activeElement.dataset.focus;
  queueMicrotask(() => {
    const next = name && to.querySelector(`[data-focus="${CSS.escape(name)}"]:not(:disabled)`);
    (next || to.querySelector('a, button') || to).focus?.();
  });
}

/** An id that labels can point at. */
export function freshId(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}
let counter = 0;
