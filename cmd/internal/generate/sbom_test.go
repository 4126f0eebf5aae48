package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

// The document has the modules of a program, and is the same each time.
func TestDescribe(t *testing.T) {
	self, err := os.Executable() // a program in Go
	if err != nil {
		t.Fatal(err)
	}
	var lists []string
	for range 2 {
		doc, err := describe("tape", "v1.2.3", "2026-01-02T03:04:05Z", []string{self, self})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(doc.Packages, func(p pkg) bool { return p.Name == "stdlib" && p.Version != "" }) {
			t.Errorf("Go's library is not in %+v", doc.Packages)
		}
		if len(doc.Relationships) != len(doc.Packages) {
			t.Errorf("%d relationships for %d packages, want one for each", len(doc.Relationships), len(doc.Packages))
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, string(raw))
	}
	if lists[0] != lists[1] {
		t.Error("the same program gives two different documents")
	}
	if _, err := describe("tape", "v1", "", []string{"sbom_test.go"}); err == nil {
		t.Error("a file that is not a program is accepted")
	}
}
