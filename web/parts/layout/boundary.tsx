import { Component, type ReactNode } from "react";
import { Failed } from "../base/page.tsx";

interface Props {
  children: ReactNode;
}

/** Replaces a page that fails to render with an error. The navigation keeps working. */
export class Boundary extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error ? (
      <Failed error={error} again={() => this.setState({ error: null })} />
    ) : (
      this.props.children
    );
  }
}
