import { describe, expect, it } from "vitest";
import { layout } from "./layout";
import type { Edges } from "./neighbourhood";

const STAR: Edges = {
  source: Int32Array.from([0, 0, 0, 0]),
  target: Int32Array.from([1, 2, 3, 4]),
  similarity: Float64Array.from([0.95, 0.9, 0.5, 0.4]),
};

/** Families of so many, all alike inside (0.7), and weakly (0.41) like one of each other family. */
function families(number: number, members: number): Edges {
  const [source, target, similarity]: number[][] = [[], [], []];
  for (const inside of [true, false])
    for (let one = 0; one < number * members; one++)
      for (let other = one + 1; other < number * members; other++) {
        const related = Math.floor(one / members) === Math.floor(other / members);
        if (related !== inside || (!related && (other - one) % members !== 0)) continue;
        source!.push(one);
        target!.push(other);
        similarity!.push(related ? 0.7 : 0.41);
      }
  return {
    source: Int32Array.from(source!),
    target: Int32Array.from(target!),
    similarity: Float64Array.from(similarity!),
  };
}

const signal = new AbortController().signal;

describe("a layout", () => {
  it("has the query in the middle, and the most similar nearest to it", async () => {
    const points = await layout(5, STAR, [], signal);
    expect(points[0]).toEqual({ x: 0, y: 0 });
    const away = points.map(({ x, y }) => Math.hypot(x, y));
    expect(away[1]).toBeLessThan(away[4]!);
    expect(away.slice(1).every((distance) => distance > 60)).toBe(true);
  });

  it("keeps apart what is only weakly similar", async () => {
    const [number, members] = [40, 8];
    const points = await layout(number * members, families(number, members), [], signal);
    const family = (place: number) => Math.floor(place / members);
    const strays = points.filter((point, place) => {
      const away = points.map(({ x, y }, other) => (other === place ? Infinity : Math.hypot(x - point.x, y - point.y)));
      return family(away.indexOf(Math.min(...away))) !== family(place);
    });
    expect(strays.length).toBeLessThan(0.05 * points.length);
  });

  it("is the same every time", async () => {
    expect(await layout(5, STAR, [], signal)).toEqual(await layout(5, STAR, [], signal));
  });

  it("puts who is new beside its neighbour, and leaves the others about there", async () => {
    const before = await layout(4, { ...STAR, similarity: STAR.similarity.subarray(0, 3) }, [], signal);
    const after = await layout(5, STAR, before, signal);
    for (const [place, { x, y }] of before.entries())
      expect(Math.hypot(after[place]!.x - x, after[place]!.y - y)).toBeLessThan(150);
    expect(Math.hypot(after[4]!.x - after[0]!.x, after[4]!.y - after[0]!.y)).toBeLessThan(300);
  });
});
