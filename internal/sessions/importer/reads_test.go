package importer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
)

// TestReadStops: Read ends with the error of the context or of emit. A file that is shorter than its size is not an
// error.
func TestReadStops(t *testing.T) {
	b := lines(generate(1, 30)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, format := range All().Names() {
		if _, err := imp.Read(ctx, format, source1("x", b), tapeSeen{}.Has, func(record.Item) error { return nil }); err == nil {
			t.Errorf("%s: no error although the context had ended", format)
		}
	}
	stop := fmt.Errorf("stop")
	_, err := imp.Read(context.Background(), ClaudeCode, source1("x", b), tapeSeen{}.Has, func(record.Item) error { return stop })
	if err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("error %v, want the one of emit", err)
	}
	_, err = imp.Read(context.Background(), ClaudeCode, record.Source{Name: "x", R: bytes.NewReader(b), Size: int64(len(b)) + 100}, tapeSeen{}.Has, func(record.Item) error { return nil })
	if err != nil {
		t.Errorf("a file that shrank: error %v, want none", err)
	}
}
