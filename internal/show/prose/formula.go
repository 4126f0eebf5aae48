package prose

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// formulas keeps formulas of TeX as they were written: $$…$$, \(…\) and \[…\] on one line. Otherwise Markdown would take
// out backslashes and signs. A single $ is no sign of a formula: most are prices and variables
// (nteract/archived-desktop-app#1663, omnigent-ai/omnigent#5013).
type formulas struct{}

// Trigger returns the bytes that a formula begins with.
func (formulas) Trigger() []byte { return []byte{'$', '\\'} }

// Parse returns the formula at the place of the reader; nil if there is none.
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, at := block.PeekLine()
	for begin, end := range map[string]string{"$$": "$$", `\(`: `\)`, `\[`: `\]`} {
		rest, ok := bytes.CutPrefix(line, []byte(begin))
		if !ok {
			continue
		}
		n := bytes.Index(rest, []byte(end))
		if n <= 0 || !bytes.ContainsAny(rest[:n], `\^_{=`) { // "\[later\]" only escapes its brackets
			return nil
		}
		n += len(begin) + len(end)
		block.Advance(n)
		formula := ast.NewTextSegment(text.NewSegment(at.Start, at.Start+n))
		formula.SetRaw(true)
		return formula
	}
	return nil
}
