import { AwsV4Signer } from "aws4fetch";

/** Signs without `subtle`, which passes each hash to another thread: that takes longer than the hash itself. */
export class Signer extends AwsV4Signer {
  override async signature(): Promise<string> {
    const day = this.datetime.slice(0, 8);
    const scope = [day, this.region, this.service];
    const known = this.cache.get(scope.join(" "));
    const key = known ? new Uint8Array(known) : this.#keyOf(scope);
    if (!known) this.cache.set(scope.join(" "), new Uint8Array(key).buffer);
    const request = new Bun.CryptoHasher("sha256").update(await this.canonicalString()).digest("hex");
    const text = ["AWS4-HMAC-SHA256", this.datetime, this.credentialString, request].join("\n");
    return new Bun.CryptoHasher("sha256", key).update(text).digest("hex");
  }

  #keyOf(scope: readonly string[]): Uint8Array {
    const secret: Uint8Array = Buffer.from(`AWS4${this.secretAccessKey}`);
    return [...scope, "aws4_request"].reduce(
      (key, part) => new Bun.CryptoHasher("sha256", key).update(part).digest(),
      secret,
    );
  }
}
