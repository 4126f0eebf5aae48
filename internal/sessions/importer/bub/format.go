package bub

import (
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format of Bub.
var Format = record.Format{
	Name: "bub", Title: "Bub", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("kind", "id") && jsonl.IsObject(m["payload"]))
	},
	Head: func(head []byte) record.Confidence {
		return record.Low.If(record.ContainsAll(head, `"kind"`, `"payload"`))
	},
	Path: func(_, stem string) bool {
		hash, _, ok := strings.Cut(stem, "__")
		return ok && isHash(hash)
	},
	Keys: func() func(jsonl.Draft) string { return new(keyMaker).next },
}
