// Return a sentence for each flaw in the layout of the page at its present width.
//
// Controls must lie within the viewport and must not cover each other. Texts must not cover each other and must not be
// cut without an ellipsis. What a box hides by scrolling does not count, and neither does what the page hides from the
// eye but tells screen readers.
() => {
    const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
    const SLACK = 1; // pixels: boxes of neighbors may share a border
    const flaws = [];
    const name = (element) => {
        const text = (element.ariaLabel || element.innerText || element.value || element.id || "").trim().slice(0, 40);
        return `<${element.localName}> “${text.replace(/\s+/g, " ")}”`;
    };

    /** Return the part of a rectangle that the ancestors of an element do not clip; null if nothing is left. */
    const clip = (element, { left, top, right, bottom }) => {
        for (let each = element; each && each !== document.documentElement; each = each.parentElement) {
            const style = getComputedStyle(each);
            if (style.clipPath !== "none" || style.opacity === "0") return null;
            if (style.overflow !== "visible" && each !== document.body) {
                const box = each.getBoundingClientRect();
                [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
                [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
            }
            if (style.position === "fixed") break;
        }
        return right - left > SLACK && bottom - top > SLACK ? { left, top, right, bottom } : null;
    };
    const layer = (element) => {
        for (let each = element; each; each = each.parentElement) {
            const { position } = getComputedStyle(each);
            if (["fixed", "sticky", "absolute"].includes(position)) return each;
        }
        return null;
    };
    const overlap = (a, b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > SLACK && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > SLACK;
    const overlapping = (boxes, related) => {
        boxes.sort((a, b) => a.top - b.top);
        const pairs = [];
        boxes.forEach((box, place) => {
            for (const other of boxes.slice(place + 1)) {
                if (other.top >= box.bottom) break;
                if (overlap(box, other) && !related(box, other)) pairs.push([box, other]);
            }
        });
        return pairs;
    };

    const scroller = document.documentElement;
    if (scroller.scrollWidth > innerWidth) {
        flaws.push(`The page is ${scroller.scrollWidth} pixels wide in a window of ${innerWidth}.`);
    }

    const controls = [];
    for (const element of document.querySelectorAll(CONTROLS)) {
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        // The marks of a plot lie where their values are. A link that is broken into lines has a box for each.
        if (element.closest("svg") !== null) continue;
        for (const rect of element.getClientRects()) {
            const box = clip(element, rect);
            if (box === null) continue;
            if (box.left < -SLACK || box.right > innerWidth + SLACK) flaws.push(`${name(element)} lies outside the window.`);
            controls.push({ element, ...box });
        }
    }
    const nested = (a, b) => a.element.contains(b.element) || b.element.contains(a.element) || layer(a.element) !== layer(b.element);
    for (const [a, b] of overlapping(controls, nested)) flaws.push(`${name(a.element)} and ${name(b.element)} overlap.`);

    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const element = node.parentElement;
        if (!node.data.trim() || ["SCRIPT", "STYLE", "OPTION", "TEXTAREA"].includes(element.tagName)) continue;
        if (!element.checkVisibility({ visibilityProperty: true })) continue;
        const range = document.createRange();
        range.selectNodeContents(node);
        for (const rect of range.getClientRects()) {
            // The box of a line includes space above and below its letters.
            const space = rect.height * 0.2;
            const box = clip(element, { left: rect.left, right: rect.right, top: rect.top + space, bottom: rect.bottom - space });
            if (box === null) continue;
            texts.push({ element, node, ...box });
            if (box.right > innerWidth + SLACK || box.left < -SLACK) flaws.push(`The text “${node.data.trim().slice(0, 40)}” lies outside the window.`);
        }
    }
    const same = (a, b) => a.node === b.node || layer(a.element) !== layer(b.element);
    for (const [a, b] of overlapping(texts, same)) {
        flaws.push(`The texts “${a.node.data.trim().slice(0, 40)}” and “${b.node.data.trim().slice(0, 40)}” overlap.`);
    }

    for (const element of new Set(texts.map((text) => text.element))) {
        for (let each = element; each && each !== document.body; each = each.parentElement) {
            const style = getComputedStyle(each);
            if (["hidden", "clip"].includes(style.overflowX) && each.scrollWidth > each.clientWidth + SLACK && each.clientWidth > SLACK) {
                if (style.textOverflow !== "ellipsis") flaws.push(`${name(each)} is cut.`);
            }
        }
    }
    const measure = document.createElement("canvas").getContext("2d");
    for (const { element } of controls.filter(({ element }) => element.localName === "select")) {
        const style = getComputedStyle(element);
        measure.font = style.font;
        const text = element.selectedOptions[0]?.text ?? "";
        const inner = element.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (measure.measureText(text).width > inner + SLACK) flaws.push(`The choice “${text}” is cut.`);
    }
    return [...new Set(flaws)];
}
