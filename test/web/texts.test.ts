import { expect, test } from "bun:test";
import fc from "fast-check";
import { isValidElement, type ReactElement, type ReactNode } from "react";
import { plural } from "../../web/parts/base/plural.ts";
import { rich } from "../../web/texts/rich.ts";
import { filled, t } from "../../web/texts/text.ts";

const name = fc.stringMatching(/^[a-z][A-Za-z0-9]{0,8}$/);
/** Text without characters that mean something in a key. */
const plain = fc.string().map((text) => text.replace(/[{}|#<>]/g, ""));

test("each placeholder becomes its value unchanged, whatever the value contains, and nothing else changes", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(plain, name, fc.string())), plain, (parts, end) => {
      const values = Object.fromEntries(parts.map(([, key, value]) => [key, value]));
      const key = parts.map(([text, placeholder]) => `${text}{${placeholder}}`).join("") + end;
      const expected = parts.map(([text, placeholder]) => text + values[placeholder]).join("") + end;
      expect(filled(key, values)).toBe(expected);
    }),
  );
});

test("a count determines the form, and is formatted in it", () => {
  fc.assert(
    fc.property(fc.nat(), (count) => {
      const text = plural(count, { one: "# run of {name}", other: "# runs of {name}" }, { name: "#1" });
      const shown = new Intl.NumberFormat().format(count);
      expect(text).toBe(count === 1 ? "1 run of #1" : `${shown} runs of #1`);
    }),
  );
});

test("a text's note isn't shown, and a value that looks like a placeholder isn't filled in", () => {
  expect(t("Run|verb")).toBe("Run");
  expect(t("{a} and {b}", { a: "{b}", b: "$&" })).toBe("{b} and $&");
});

const textOf = (node: ReactNode): string => {
  if (Array.isArray(node)) return node.map(textOf).join("");
  if (isValidElement(node)) return textOf((node as ReactElement<{ children?: ReactNode }>).props.children);
  return typeof node === "string" || typeof node === "number" ? String(node) : "";
};

test("elements are where the sentence names them", () => {
  const sentence = rich("See <link>the manual</link>, {name}.", {
    link: (text) => text.toUpperCase(),
    name: null,
  });
  expect(textOf(sentence)).toBe("See THE MANUAL, .");
});
