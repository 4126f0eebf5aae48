package claudeai

import "tape/internal/sessions/importer/record"

// Format is the format of the export of claude.ai.
var Format = record.Format{
	Name: "claude-ai", Title: "claude.ai", Read: Read, Describe: Describe, Many: true,
	Record: func(m record.Members) record.Confidence { return record.Certain.If(m.Has("uuid", "chat_messages")) },
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"uuid"`, `"chat_messages"`))
	},
}
