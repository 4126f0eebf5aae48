package export

import (
	"strings"
	"testing"
)

// Commands that Claude Code records in tags are shown as what was typed and printed.
func TestLocalCommandsInDocuments(t *testing.T) {
	r := record(t)
	r.say("user", "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>")
	r.say("user", "<local-command-stdout>Set model to opus</local-command-stdout>")
	r.say("user", "a question about <command-name>")
	for _, f := range []string{"markdown", "html"} {
		got := write(t, f, r.source())
		for _, want := range []string{"/model opus", "Set model to opus", "a question about"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is missing in\n%s", f, want, got)
			}
		}
		for _, not := range []string{"command-message", "local-command-stdout"} {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q is in\n%s", f, not, got)
			}
		}
	}
}
