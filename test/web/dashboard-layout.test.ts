import { expect, test } from "bun:test";
import { moved, type Position, without } from "../../web/parts/dashboards/layout.ts";

const PANELS: readonly Position[] = [
  { key: "a", x: 0, y: 0, width: 6, height: 4 },
  { key: "b", x: 6, y: 0, width: 6, height: 4 },
  { key: "c", x: 0, y: 4, width: 12, height: 2 },
];
const drawn = (panels: readonly Position[]) =>
  Object.fromEntries(panels.map(({ key, x, y, width, height }) => [key, [x, y, width, height]]));

test("a panel that moves onto others pushes them down, and its gap closes", () => {
  expect(drawn(moved(PANELS, "c", { y: 0 }))).toEqual({ a: [0, 2, 6, 4], b: [6, 2, 6, 4], c: [0, 0, 12, 2] });
  expect(drawn(moved(PANELS, "a", { x: 6 }))).toEqual({ a: [6, 0, 6, 4], b: [6, 4, 6, 4], c: [0, 8, 12, 2] });
});

test("a panel stays within the twelve columns", () => {
  expect(drawn(moved(PANELS, "b", { width: 20, height: 0 })).b).toEqual([6, 0, 6, 1]);
  expect(drawn(moved(PANELS, "b", { x: 11, y: -3 })).b).toEqual([6, 0, 6, 4]);
});

test("the panels below a removed one move up", () => {
  const alone = without(without(PANELS, "a"), "b");
  expect(drawn(alone)).toEqual({ c: [0, 0, 12, 2] });
});
