package simulate

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// style serves light and dark pages: whoever shows the picture decides.
const style = `<style>
    .card { fill: #ffffff; stroke: #d1d9e0; }
    text { font: 12px -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; fill: #1f2328; }
    .title { font-size: 13px; font-weight: 600; }
    .tick, .axis { font-size: 11px; fill: #59636e; }
    .grid { stroke: #818b98; stroke-opacity: .28; }
    .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
    .plain { stroke: #0969da; } .proposed { stroke: #bc4c00; } .other { stroke: #818b98; stroke-width: 1.3; }
    .dot { fill: #ffffff; stroke: #59636e; } .ours { fill: #0969da; stroke: #0969da; } .new { fill: #bc4c00; stroke: #bc4c00; }
    .number { font-size: 10px; text-anchor: middle; } .inverse { fill: #ffffff; }
    @media (prefers-color-scheme: dark) {
      .card { fill: #0d1117; stroke: #30363d; }
      text { fill: #f0f6fc; } .tick, .axis { fill: #9198a1; }
      .grid { stroke: #8b949e; }
      .plain { stroke: #4493f8; } .proposed { stroke: #f0883e; } .other { stroke: #8b949e; }
      .dot { fill: #0d1117; stroke: #9198a1; } .ours { fill: #4493f8; stroke: #4493f8; } .new { fill: #f0883e; stroke: #f0883e; }
      .inverse { fill: #0d1117; }
    }
  </style>`

// drawing is an SVG under construction.
type drawing struct {
	width, height int
	body          strings.Builder
}

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(&d.body, "  "+format+"\n", args...) }

func (d *drawing) text(x, y float64, class, anchor, text string) {
	d.put(`<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`, class, x, y, anchor, html.EscapeString(text))
}

// svg is the whole picture, with a title and a description for those who do not see it.
func (d *drawing) svg(title, description string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc">
  <title id="title">%[3]s</title>
  <desc id="desc">%[4]s</desc>
  %[5]s
  <rect class="card" x=".5" y=".5" width="%[6]d" height="%[7]d" rx="8"/>
%[8]s</svg>
`, d.width, d.height, html.EscapeString(title), html.EscapeString(description), style, d.width-1, d.height-1, d.body.String())
}

// axis maps values to a range of the picture.
type axis struct {
	least, most float64
	log         bool
	// from and to are where the ends lie.
	from, to float64
	ticks    []float64
	label    string
}

func (a axis) at(value float64) float64 {
	scale := func(v float64) float64 { return v }
	if a.log {
		scale = math.Log
	}
	return a.from + (a.to-a.from)*(scale(value)-scale(a.least))/(scale(a.most)-scale(a.least))
}

// panel is one plot of a picture.
type panel struct {
	*drawing
	x, y axis
	clip string
}

// panel draws the frame: title, grid, ticks and the names of the axes.
func (d *drawing) panel(title string, x, y axis) panel {
	p := panel{d, x, y, fmt.Sprintf("clip-%.0f-%.0f", x.from, y.to)}
	d.put(`<clipPath id="%s"><rect x="%.1f" y="%.1f" width="%.1f" height="%.1f"/></clipPath>`, p.clip, x.from, y.to, x.to-x.from, y.from-y.to)
	d.text(x.from, y.to-10, "title", "start", title)
	for _, tick := range x.ticks {
		d.put(`<line class="grid" x1="%[1]f" x2="%[1]f" y1="%[2]f" y2="%[3]f"/>`, x.at(tick), y.from, y.to)
		d.text(x.at(tick), y.from+15, "tick", "middle", x.short(tick))
	}
	for _, tick := range y.ticks {
		d.put(`<line class="grid" x1="%[1]f" x2="%[2]f" y1="%[3]f" y2="%[3]f"/>`, x.from, x.to, y.at(tick))
		d.text(x.from-6, y.at(tick)+4, "tick", "end", y.short(tick))
	}
	d.text((x.from+x.to)/2, y.from+31, "axis", "middle", x.label)
	d.put(`<text class="axis" text-anchor="middle" transform="translate(%.1f %.1f) rotate(-90)">%s</text>`, x.from-42, (y.from+y.to)/2, y.label)
	return p
}

// line joins points; what lies outside of the frame is cut off.
func (p panel) line(class string, points [][2]float64) {
	var path strings.Builder
	for i, point := range points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(i, 1)], p.x.at(point[0]), p.y.at(point[1]))
	}
	p.put(`<path class="line %s" clip-path="url(#%s)" d="%s"/>`, class, p.clip, path.String())
}

// dot is a numbered point.
func (p panel) dot(class, numberClass string, x, y float64, number int) {
	p.put(`<circle class="%s" cx="%.1f" cy="%.1f" r="7.5"/>`, class, p.x.at(x), p.y.at(y))
	p.put(`<text class="number %s" x="%.1f" y="%.1f">%d</text>`, numberClass, p.x.at(x), p.y.at(y)+3.5, number)
}

// decades are the ticks of a logarithmic axis, and its ends around the given values.
func decades(least, most float64) (from, to float64, ticks []float64) {
	for _, step := range []float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000} {
		if step <= least {
			ticks = ticks[:0]
		}
		ticks = append(ticks, step)
		if step >= most {
			break
		}
	}
	return ticks[0], ticks[len(ticks)-1], ticks
}

// short is a number as a tick has it.
func (a axis) short(v float64) string {
	if a.log && v >= 1000 {
		return fmt.Sprintf("%gk", v/1000)
	}
	return fmt.Sprintf("%g", v)
}
