/** Loaded before a server: shifts its wall clock by the setting. */
const aheadMs = Number(process.env.TEST_CLOCK_AHEAD_MS);
const Real = Date;

class OffDate extends Real {
  constructor(...given: ConstructorParameters<typeof Date>) {
    if ((given as unknown[]).length === 0) super(Real.now() + aheadMs);
    else super(...given);
  }
  static override now = () => Real.now() + aheadMs;
}

globalThis.Date = OffDate as DateConstructor;
