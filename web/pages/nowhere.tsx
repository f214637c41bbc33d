import { Compass } from "lucide-react";
import { LinkButton } from "../parts/base/button.tsx";
import { Empty, PageHead } from "../parts/base/page.tsx";

export default function Nowhere() {
  return (
    <>
      <PageHead title="Page not found" />
      <div className="card">
        <Empty
          icon={Compass}
          title="There's nothing at this address"
          action={<LinkButton href="/">Go to Home</LinkButton>}
        >
          Check the address, or press Ctrl+K to search.
        </Empty>
      </div>
    </>
  );
}
