/** JSON texts of about `size` bytes, each of a kind that takes a parser long. */
export const LONG_JSON: Readonly<Record<string, (size: number) => string>> = {
  "texts that differ": (size) =>
    JSON.stringify({ list: Array.from({ length: size / 10 }, (_, n) => `s${n}`.padEnd(7, "x")) }),
  "objects of many keys": (size) =>
    `{"list":[${Array.from({ length: size / 650_000 }, () => `{${Array.from({ length: 40_000 }, (_, n) => `"k${String(n).padStart(6, "0")}":${n % 100_000}`).join(",")}}`).join(",")}]}`,
  "small objects": (size) =>
    `{"list":[${Array.from({ length: size / 110 }, (_, n) => `{"id":${n},"name":"customer ${n}","total":"19.90","tags":["a","b"],"place":{"x":${n}.5,"y":null}}`).join(",")}]}`,
  numbers: (size) => `{"list":[${"1,".repeat(size / 2)}1]}`,
};
