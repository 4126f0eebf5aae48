package acp

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Format is the format that tape acp writes.
var Format = record.Format{
	Name: "acp", Title: "an editor's agent", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("from") && jsonl.IsObject(m["acp"]))
	},
	// tape acp gives the events these names.
	Events: []record.HookEvent{{Name: "SessionStart", Is: record.Start}, {Name: "Stop", Is: record.TurnEnd}, {Name: "SessionEnd", Is: record.End}},
}
