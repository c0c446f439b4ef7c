// Sorts the items of a layout by their dependences.

/** Sort items so that each comes after the items it depends on; items of a cycle keep the given order.
 * `links`: {from, to}. Cost is linear. */
export function inOrder(items, links) {
  const waits = new Map(items.map((item) => [item, 0]));
  const users = new Map(items.map((item) => [item, []]));
  for (const { from, to } of links) {
    if (from === to) continue;
    waits.set(to, waits.get(to) + 1);
    users.get(from).push(to);
  }
  const done = new Set();
  const take = (first) => {
    const queue = [first];
    for (let n = 0; n < queue.length; n++) {
      if (done.has(queue[n])) continue;
      done.add(queue[n]);
      for (const user of users.get(queue[n])) {
        waits.set(user, waits.get(user) - 1);
        if (waits.get(user) === 0) queue.push(user);
      }
    }
  };
  for (const item of items) if (waits.get(item) === 0 && !done.has(item)) take(item);
  for (const item of items) if (!done.has(item)) take(item); // items of a cycle
  return [...done];
}
