package inventory

// A BlockType is a small block in a server that a kind of resource declares for
// itself: all of its attributes are texts.
type BlockType struct {
	Name       string
	About      string // what it is for, a sentence
	Label      string // what its label stands for: key
	Named      Form   // what the label must be
	Attributes []Attribute
}

// An Attribute of a BlockType.
type Attribute struct {
	Name    string
	About   string // what it is for, a sentence
	Needed  bool
	Default string // where it is not written; "": there is none
	Form    Form
}

// A Form is what a text must be.
type Form struct {
	Is      string // for people: a text in one line
	Pattern string // regular expression of the whole
}
