package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
)

// TestHelpFits: the help of no command has a line that is wider than a usual terminal, and nothing of it is lost.
func TestHelpFits(t *testing.T) {
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	n := 0
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		n++
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.InitDefaultHelpFlag()
		if err := cmd.Help(); err != nil {
			t.Errorf("%s: %v", cmd.CommandPath(), err)
		}
		for line := range strings.Lines(out.String()) {
			if cells := display.Width(strings.TrimSuffix(line, "\n")); cells > helpCells {
				t.Errorf("%s: %d cells: %s", cmd.CommandPath(), cells, line)
			}
		}
		if got := words(out.String()); !strings.Contains(got, words(cmd.Long)) || !strings.Contains(got, words(cmd.Example)) {
			t.Errorf("%s: the help lacks something:\n%s", cmd.CommandPath(), out.String())
		}
		for _, sub := range cmd.Commands() {
			check(sub)
		}
	}
	check(Root(OS("", "")))
	if n < 50 {
		t.Errorf("only %d commands were checked", n)
	}
}

func TestHanging(t *testing.T) {
	const flag = "      --tape NAME       use the tape NAME, or fork TAPE/NAME (default: $TAPE_NAME, or the current tape)"
	const want = "      --tape NAME       use the tape NAME, or fork TAPE/NAME (default:\n                        $TAPE_NAME, or the current tape)"
	if got := hanging(flag); got != want {
		t.Errorf("a flag:\n%s\nnot\n%s", got, want)
	}
	long := "  " + strings.Repeat("x", 100)
	if got := hanging(long); got != long {
		t.Errorf("a long word:\n%s", got)
	}
	if got := filled("one\ntwo\n\n- three\n- four\n  five"); got != "one two\n\n- three\n- four\n  five" {
		t.Errorf("a list:\n%s", got)
	}
}
