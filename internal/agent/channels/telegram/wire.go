package telegram

import "encoding/json"

// The parts of the Bot API's objects that are used (https://core.telegram.org/bots/api#available-types).

type update struct {
	Message *message `json:"message"`
	Edited  *message `json:"edited_message"`
}

type message struct {
	ID           int64           `json:"message_id"`
	Thread       int64           `json:"message_thread_id"`
	InTopic      bool            `json:"is_topic_message"`
	From         *user           `json:"from"`
	SenderChat   *chat           `json:"sender_chat"`
	Chat         *chat           `json:"chat"`
	Date         int64           `json:"date"`
	ReplyTo      *message        `json:"reply_to_message"`
	TopicCreated json.RawMessage `json:"forum_topic_created"`
	Album        string          `json:"media_group_id"`
	Text         string          `json:"text"`
	Entities     []entity        `json:"entities"`
	Caption      string          `json:"caption"`
	CapEntities  []entity        `json:"caption_entities"`
	MigrateTo    int64           `json:"migrate_to_chat_id"`

	// What is not in the sender's own words.
	Forward       *origin   `json:"forward_origin"`
	ForwardDate   int64     `json:"forward_date"` // servers before Bot API 7.0 send this instead
	ViaBot        *user     `json:"via_bot"`      // the bot that made the text
	Quote         *quote    `json:"quote"`
	ExternalReply *external `json:"external_reply"`
	AutoForward   bool      `json:"is_automatic_forward"` // from the channel of a group

	things

	Photo     []file `json:"photo"`
	Animation *file  `json:"animation"`
	Document  *file  `json:"document"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Sticker   *file  `json:"sticker"`
}

type user struct {
	ID       int64  `json:"id"`
	IsBot    bool   `json:"is_bot"`
	Name     string `json:"first_name"`
	LastName string `json:"last_name"`
	Username string `json:"username"`
}

type chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"` // private, group, supergroup, channel
	Title    string `json:"title"`
	Username string `json:"username"`
}

// entity is a marked part of a text; offset and length count UTF-16 units.
type entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	Language string `json:"language,omitempty"`
	User     *user  `json:"user,omitempty"`
	URL      string `json:"url,omitempty"`
}

// origin is where a forwarded message comes from; which fields it has depends on what that is.
type origin struct {
	User     *user  `json:"sender_user"`
	UserName string `json:"sender_user_name"` // of somebody who hides the account
	Chat     *chat  `json:"sender_chat"`      // a group, or somebody who writes in its name
	Channel  *chat  `json:"chat"`
	Author   string `json:"author_signature"`
	Date     int64  `json:"date"`
}

// quote is the part of a message to which another one replies.
type quote struct {
	Text string `json:"text"`
}

// external is a message of another chat to which one replies.
type external struct {
	Origin *origin `json:"origin"`
	things
}

// things are contents of messages that are neither texts nor files.
type things struct {
	Location  *location  `json:"location"`
	Venue     *venue     `json:"venue"`
	Contact   *contact   `json:"contact"`
	Poll      *poll      `json:"poll"`
	Dice      *dice      `json:"dice"`
	Checklist *checklist `json:"checklist"`
	Story     *story     `json:"story"`

	Game       *titled `json:"game"`
	Invoice    *titled `json:"invoice"`
	PaidMedia  *titled `json:"paid_media"`
	Giveaway   *titled `json:"giveaway"`
	Gift       *titled `json:"gift"`
	UniqueGift *titled `json:"unique_gift"`
	WebApp     *titled `json:"web_app_data"`
}

// titled is a thing of which little is told.
type titled struct {
	Title string `json:"title"`
	Data  string `json:"data"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Live      int64   `json:"live_period"` // in seconds
}

type venue struct {
	Location location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

type contact struct {
	Phone    string `json:"phone_number"`
	Name     string `json:"first_name"`
	LastName string `json:"last_name"`
}

type poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text   string `json:"text"`
		Voters int    `json:"voter_count"`
	} `json:"options"`
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
		Done int64  `json:"completion_date"`
	} `json:"tasks"`
}

type story struct {
	Chat *chat `json:"chat"`
}

// file is any of the objects that describe a file.
type file struct {
	ID       string `json:"file_id"`
	Size     int64  `json:"file_size"`
	Name     string `json:"file_name"`
	MIMEType string `json:"mime_type"`
	Duration int64  `json:"duration"`
	Emoji    string `json:"emoji"`
	Animated bool   `json:"is_animated"` // of a sticker
	IsVideo  bool   `json:"is_video"`    // of a sticker
	Path     string `json:"file_path"`   // in the answer to getFile
}

// content returns a message's text and its entities.
func (m *message) content() (string, []entity) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CapEntities
}
