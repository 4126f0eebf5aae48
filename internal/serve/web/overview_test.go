package web

import (
	"testing"

	"tape/internal/show/outline"
)

// TestReadyOutline: an outline that is ready is always shown, even on a page that does not wait for it.
func TestReadyOutline(t *testing.T) {
	p := &pending{ready: make(chan struct{}), outline: &outline.Outline{}}
	if p.soon(0) != nil {
		t.Error("an outline that is not ready is shown")
	}
	close(p.ready)
	for range 100 {
		if p.soon(0) == nil {
			t.Fatal("an outline that is ready is not shown")
		}
	}
}
