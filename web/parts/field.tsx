import type { FieldProps } from "./field-frame.tsx";
import { JsonField } from "./field-json.tsx";
import { Group, Items, Variants } from "./field-nested.tsx";
import { Pairs } from "./field-pairs.tsx";
import { Scalar } from "./field-scalar.tsx";
import { drawnAs } from "./schema.ts";

/** One field of a generated form, in the way that its schema asks for. */
export function Field(props: FieldProps) {
  const { name, schema } = props;
  const drawn = drawnAs(name, schema);
  switch (drawn.as) {
    case "group":
      return <Group {...props} of={drawn.of} />;
    case "items":
      return <Items {...props} of={drawn.of} />;
    case "variants":
      return <Variants {...props} drawn={drawn} />;
    case "pairs":
      return <Pairs {...props} />;
    case "json":
      return <JsonField {...props} />;
    default:
      return <Scalar {...props} drawn={drawn} />;
  }
}
