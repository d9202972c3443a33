import type { Size } from "../api/client";

const KEY = "graphkin.density";

/** How much space rows and tiles take. */
export type Density = "comfortable" | "compact";

/** Depictions of a list: their size, and the length of their bonds, so that all of them have the same scale. */
interface DepictionStyle {
  size: Size;
  bondLength: number;
}

/** Space for a row of a table, with the height of the row in pixels, and for a tile. */
const STYLES: Record<Density, { row: DepictionStyle & { height: number }; tile: DepictionStyle }> = {
  comfortable: {
    row: { size: { width: 160, height: 96 }, bondLength: 22, height: 104 },
    tile: { size: { width: 180, height: 130 }, bondLength: 26 },
  },
  compact: {
    row: { size: { width: 104, height: 60 }, bondLength: 16, height: 64 },
    tile: { size: { width: 120, height: 84 }, bondLength: 18 },
  },
};

/** The density of this browser. It is an attribute of the document, which the style sheet reads. */
class DensityChoice {
  current: Density = $state(storedDensity());

  readonly row = $derived(STYLES[this.current].row);
  readonly tile = $derived(STYLES[this.current].tile);

  constructor() {
    document.documentElement.dataset.density = this.current;
  }

  /** Change to the other density, and keep it for the next visit. */
  toggle(): void {
    this.current = this.current === "compact" ? "comfortable" : "compact";
    document.documentElement.dataset.density = this.current;
    try {
      localStorage.setItem(KEY, this.current);
    } catch {
      // The browser refuses to store data: the choice lasts until the page is closed.
    }
  }
}

function storedDensity(): Density {
  try {
    return localStorage.getItem(KEY) === "compact" ? "compact" : "comfortable";
  } catch {
    return "comfortable";
  }
}

export const density = new DensityChoice();
