package acp

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is what tape acp keeps.
var Format = record.Format{
	Name: "acp", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Surely.If(m.Has("from") && jsonl.IsObject(m["acp"]))
	},
	// As tape acp tells of them.
	Events: []record.HookEvent{{Name: "SessionStart", Is: record.Start}, {Name: "Stop", Is: record.TurnEnd}, {Name: "SessionEnd", Is: record.End}},
}
