package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
)

// helpCells is how wide help is: the usual terminal.
const helpCells = 80

// showHelp shows the help of a command, no line wider than helpCells.
func showHelp(cmd *cobra.Command, _ []string) {
	text := filled(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short)))
	if cmd.Runnable() || cmd.HasSubCommands() {
		if text != "" {
			text += "\n\n"
		}
		text += hanging(cmd.UsageString())
	}
	_, _ = fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(text, "\n"))
}

// filled breaks the paragraphs of a text anew. Lines that are indented stay lines of their own, and a dash begins one.
func filled(text string) string {
	var out, paragraph []string
	end := func() {
		if len(paragraph) > 0 {
			out = append(out, display.Wrap(strings.Join(paragraph, " "), helpCells)...)
			paragraph = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "" || line[0] == ' ':
			end()
			out = append(out, hanging(line))
			continue
		case strings.HasPrefix(line, "- "):
			end()
		}
		paragraph = append(paragraph, line)
	}
	end()
	return strings.Join(out, "\n")
}

// hanging breaks lines that are too wide. The rest of a line is put below its last column, such as the words that say
// what a flag does; a line without columns goes on with a little more indentation.
func hanging(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for display.Width(line) > helpCells {
			indent := hangAt(line)
			at := strings.LastIndexByte(line[:cutAt(line, helpCells)], ' ')
			if at <= indent { // a word that is wider than the line
				if at = strings.IndexByte(line[min(len(line), indent+1):], ' '); at < 0 {
					break
				}
				at += indent + 1
			}
			out = append(out, strings.TrimRight(line[:at], " "))
			line = strings.Repeat(" ", indent) + strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// hangAt returns where the rest of a line goes on.
func hangAt(line string) int {
	const widest, more = 44, 4
	lead := len(line) - len(strings.TrimLeft(line, " "))
	if lead > widest/2 {
		return lead // what goes on already
	}
	if at := strings.LastIndex(line[:min(len(line), widest)], "  "); at > lead {
		return at + len("  ")
	}
	return lead + more
}

// cutAt returns how many bytes of a line fit into cells, and one more, so that a space may end it.
func cutAt(line string, cells int) int {
	n := 0
	for i, r := range line {
		if n += display.Width(string(r)); n > cells+1 {
			return i
		}
	}
	return len(line)
}
