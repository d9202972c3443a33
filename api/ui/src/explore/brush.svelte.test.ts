import { expect, test } from "vitest";
import { Client } from "../api/client";
import { brush } from "./brush.svelte";

test("the brush keeps distinct ids in order, until another generation is opened", () => {
  brush.open(new Client("nci", "a"));
  brush.replace([7, 3, 7]);
  brush.open(new Client("nci", "a"));
  expect([brush.ids, brush.has(3), brush.has(4)]).toEqual([[3, 7], true, false]);
  brush.open(new Client("nci", "b"));
  expect(brush.ids).toEqual([]);
});
