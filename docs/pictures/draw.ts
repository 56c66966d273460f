import { glob, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { instance } from '@viz-js/viz';

/** Colours by their places in the pictures: what is drawn black and white takes part in light and dark. */
const style = `<style>
  text { fill: #1f2328 }
  .node path, .node polygon, .node ellipse { fill: #f6f8fa; stroke: #59636e }
  .edge path { stroke: #59636e }
  .edge polygon { fill: #59636e; stroke: #59636e }
  .cluster path, .cluster polygon { fill: none; stroke: #8c959f; stroke-dasharray: 3 3 }
  .graph > polygon { fill: none; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .node path, .node polygon, .node ellipse { fill: #1f2630; stroke: #9198a1 }
    .edge path { stroke: #9198a1 }
    .edge polygon { fill: #9198a1; stroke: #9198a1 }
  }
</style>`;

const font = 'Helvetica,Arial,sans-serif';

/** The pictures of the documentation as SVG, by their path from the root of the checkout: each has a graph in DOT beside it. */
export async function drawnPictures(): Promise<Map<string, string>> {
  const viz = await instance();
  const pictures = new Map<string, string>();
  for await (const file of glob('*.dot', { cwd: fileURLToPath(new URL('.', import.meta.url)) })) {
    const text = await readFile(new URL(file, import.meta.url), 'utf8');
    const svg = viz.renderString(text, {
      format: 'svg',
      graphAttributes: { fontname: font, fontsize: 11, pad: 0.1 },
      nodeAttributes: {
        fontname: font,
        fontsize: 11,
        shape: 'box',
        style: 'rounded,filled',
        // Fonts differ in width from one machine to the next.
        margin: '0.22,0.08',
      },
      edgeAttributes: { fontname: font, fontsize: 10, arrowsize: 0.7 },
    });
    pictures.set(`docs/pictures/${file.replace(/\.dot$/, '.svg')}`, withStyle(svg));
  }
  return pictures;
}

/** The heading of the file names no version: it is the same picture with another one. */
function withStyle(svg: string): string {
  return svg
    .replace(/^.*?(?=<svg)/s, '')
    .replaceAll(/<!--.*?-->\n?/gs, '')
    .replace(/<svg[^>]*>/s, (start) => `${start}\n${style}`);
}
