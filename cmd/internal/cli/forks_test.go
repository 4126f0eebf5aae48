package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// A fork that is closed while the forks are listed is left out, and the others are shown.
func TestForkClosedWhileListed(t *testing.T) {
	store, _, err := repo.Init(t.Context(), t.TempDir()+"/ws", nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Tape(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 8; n++ {
		f, err := m.Fork(t.Context(), fmt.Sprintf("x%d", n))
		if err != nil {
			t.Fatal(err)
		}
		ctx := testkit.AtLook(t.Context(), n, func() {
			if err := f.Discard(t.Context()); err != nil {
				t.Error(err)
			}
		})
		a, _, _ := testApp(testkit.Clock())
		stdout := &bytes.Buffer{}
		a.Out = bufio.NewWriterSize(stdout, 16)
		o := &forksOptions{app: a, closed: true, all: true}
		if err := o.run(ctx, store, nil); err != nil {
			t.Errorf("with x%d closed at the context's check %d, forks fails: %v", n, n, err)
		}
		if n > 1 && !strings.Contains(stdout.String(), "main/x1 ") {
			t.Errorf("with x%d closed at the context's check %d, main/x1 is not in the list:\n%s", n, n, stdout)
		}
	}
}
