#include "store/cell.h"

const char *kind_name(uint8_t kind)
{
	switch (kind) {
	case CELL_PUT:
		return "put";
	case CELL_DELETE:
		return "delete";
	case CELL_DELETE_FAMILY_VERSION:
		return "delete-family-version";
	case CELL_DELETE_COLUMN:
		return "delete-column";
	case CELL_DELETE_FAMILY:
		return "delete-family";
	}
	return "unknown";
}
