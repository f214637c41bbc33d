/** Initials of a name on a color derived from it, to distinguish services. */
export function Monogram({ name, of }: { name: string; of: string }) {
  let hash = 0;
  for (const letter of of) hash = (hash * 31 + (letter.codePointAt(0) ?? 0)) % 3600;
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = "?", second = ""] = words;
  const [one = "", two = ""] = second === "" ? first : [[...first][0], [...second][0]?.toUpperCase()];
  return (
    <span
      aria-hidden
      className="grid size-7 shrink-0 place-items-center rounded-md text-xs font-semibold"
      style={{ backgroundColor: `hsl(${hash % 360} 55% 27%)`, color: "white" }}
    >
      {one.toUpperCase()}
      {two}
    </span>
  );
}
