// Package owned is how weft names what it makes on devices, to know its own again.
package owned

import "strings"

const (
	// Objects is what names of classes, policies and tables on switches begin with.
	Objects = "WEFT-"

	// MaxObject is how long such a name may be, in characters: what every switch
	// system takes.
	MaxObject = 31
)

// Object is the name on switches of something of an owner: of a fabric, or of one
// class of it.
func Object(owner string, of ...string) string {
	return Objects + owner + "-" + strings.Join(of, "-")
}
