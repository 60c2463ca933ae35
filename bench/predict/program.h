#include "../../tests/programs/predict/program.h"
