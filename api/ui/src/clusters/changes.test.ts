import { describe, expect, it } from "vitest";
import type { Item, LineageRow } from "../api/replies";
import { centerOf, changesOf, sentence } from "./changes";

function row(change: number, event: LineageRow["event"], before: number[] | null, after: number[] | null, shared: number): LineageRow {
  return {
    change,
    event,
    before: before && { id: before[0]!, size: before[1]!, centre: before[0]! * 10, removed: before[2]! },
    after: after && { id: after[0]!, size: after[1]!, centre: after[0]! * 100, added: after[2]! },
    shared,
  };
}

const ROWS = [
  row(1, "merged", [1, 1203, 0], [1, 1210, 3], 1203),
  row(1, "merged", [7, 5, 1], [1, 1210, 3], 4),
  row(2, "split", [2, 9, 1], [3, 5, 0], 5),
  row(2, "split", [2, 9, 1], [4, 3, 0], 3),
  row(3, "grew", [3, 4, 0], [5, 6, 2], 4),
  row(4, "shrank", [4, 4, 3], [6, 1, 0], 1),
  row(5, "replaced", [5, 2, 1], [7, 2, 1], 1),
  row(6, "appeared", null, [8, 1, 1], 0),
  row(7, "vanished", [9, 2, 2], null, 0),
  row(8, "vanished", [10, 1, 1], null, 0),
];

describe("changes of clusters", () => {
  it("are told in sentences", () => {
    expect(changesOf(ROWS).map((change) => sentence(change))).toEqual([
      "Merged: 1,210 items, 1,203 of earlier cluster 1, 4 of earlier cluster 7, and 3 new items.",
      "Split: 9 items of earlier cluster 2, 1 removed.",
      "Grew from 4 to 6 items: 2 new.",
      "Shrank from 4 to 1 item: 0 new, 3 removed.",
      "Changed at 2 items: 1 new, 1 removed.",
      "Appeared with 1 new item.",
      "Vanished: its 2 items were removed.",
      "Vanished: its item was removed.",
    ]);
  });

  it("have the center of a cluster that exists", () => {
    const item = (id: number) => [id, { id } as Item] as const;
    const [items, earlier] = [new Map([item(100), item(300)]), new Map([item(90)])];
    const centers = changesOf(ROWS).map((change) => centerOf(change, items, earlier)?.id ?? null);
    expect(centers).toEqual([100, 300, null, null, null, null, 90, null]);
  });
});
