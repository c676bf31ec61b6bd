/** Places in the prompt's text, in the server's count and in the browser's. Pure. */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The server counts in bytes of UTF-8, the prompt in UTF-16 units. */
export function byteOffset(text: string, units: number): number {
  return encoder.encode(text.slice(0, units)).length;
}
export function unitOffset(text: string, bytes: number): number {
  return decoder.decode(encoder.encode(text).slice(0, bytes)).length;
}
