package openai

import "tape/internal/sessions/importer/record"

// Format is the format of chat messages, which many programs write.
var Format = record.Format{
	Name: "openai", Title: "OpenAI", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Likeness {
		return record.Perhaps.If(m.Has("role") || m.HasMessages("role"))
	},
	Head: func(head []byte) record.Likeness {
		return record.Perhaps.If(record.ContainsAll(head, `"role"`) && record.HeadHasMessages(head, "role"))
	},
}
