const KEY = "graphkin.density";

/** How much space rows and tiles take. */
export type Density = "comfortable" | "compact";

/** The density of this browser. It is an attribute of the document, which the style sheet reads. */
class DensityChoice {
  current: Density = $state(storedDensity());

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
